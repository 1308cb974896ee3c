import { defineTool } from "toolport";
import { z } from "zod";

const answerOf = z.object({
  allowed: z.boolean(),
  berth: z.int().min(1).optional(),
  remark: z.string().default(""),
});

/** Needs the live run: only the kernel can reach the one who decides. */
export const askHarbourMaster = defineTool({
  name: "ask_harbour_master",
  description: `Asks the harbour master of a port whether a ship may berth.

The answer may take a while: a person gives it.`,
  parameters: z.object({
    ship: z.enum(["Heron", "Otter"]),
    port: z.enum(["Sandhaven", "Skerry", "Lowick"]),
  }),
  category: "custom",
  readOnly: true,
  openWorld: true,
  runAware: true,
  async execute({ ship, port }, { run }) {
    const answer = answerOf.safeParse(await run?.ask("harbour_master", { ship, port }));
    if (!answer.success) {
      throw new TypeError(
        `the kernel's harbour_master gave no answer: ${z.prettifyError(answer.error)}`,
      );
    }
    const { allowed, berth, remark } = answer.data;
    const verdict = allowed
      ? `${ship} may berth at ${port}${berth === undefined ? "" : `, berth ${berth}`}`
      : `${ship} may not berth at ${port}`;
    return remark === "" ? `${verdict}.` : `${verdict}: ${remark}`;
  },
});
