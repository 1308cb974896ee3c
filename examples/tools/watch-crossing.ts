import { setTimeout as wait } from "node:timers/promises";

import { defineTool } from "toolport";
import { z } from "zod";

const stages = ["boarding", "casting off", "leaving harbour", "open water", "approach", "moored"];

/** Takes its time, says how far it is, and stops as soon as nobody waits for it any more. */
export const watchCrossing = defineTool({
  name: "watch_crossing",
  description: `Follows one crossing until the ship is moored.

Reports each stage of the crossing as it is reached. Cancel the call to stop watching.`,
  parameters: z.object({
    ship: z.enum(["Heron", "Otter"]),
    seconds: z.number().min(0.1).max(600).default(10).describe("How long the crossing takes"),
  }),
  category: "data",
  readOnly: true,
  openWorld: false,
  async *execute({ ship, seconds }, ctx) {
    for (const [index, stage] of stages.entries()) {
      ctx.progress(index, stages.length - 1, `${ship}: ${stage}`);
      yield `${ship}: ${stage}`;
      // Throws the signal's reason when the call is cancelled, which ends the generator.
      if (stage !== stages.at(-1)) {
        await wait((seconds * 1000) / (stages.length - 1), undefined, { signal: ctx.signal });
      }
    }
  },
});
