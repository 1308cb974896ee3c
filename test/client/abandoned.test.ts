import test from "ava";
import { defineTool } from "../../src/index.ts";
import type { Execution } from "../../src/client/index.ts";
import { serveField, until } from "../field/world.ts";

const streams = 500;

for (const kind of ["alone", "on a run"] as const) {
  test.serial(
    `five hundred abandoned streams ${kind} leave no tool, timer or socket behind`,
    async (t) => {
      let running = 0;
      const wait = defineTool({
        name: "wait",
        description: "Says that it waits, and waits until it is aborted.",
        async execute(_args, ctx) {
          running += 1;
          ctx.progress(0, 1, "waiting");
          await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
          running -= 1;
        },
      });
      const { client } = await serveField(t, { tools: [wait] });
      const run = kind === "alone" ? undefined : client.run("r");
      const start = (): Execution =>
        run ? run.execute({ name: "wait" }) : client.execute({ name: "wait" });
      const leave = async (execution: Execution): Promise<void> => {
        for await (const event of execution) {
          t.is(event.case, "progress");
          break;
        }
        await t.throwsAsync(execution.result, { code: "CANCELLED" });
      };
      await leave(start());
      await until(() => running === 0);
      const before = resources();
      await Promise.all(Array.from({ length: streams }, () => leave(start())));
      await until(() => running === 0);
      await until(() => resources() <= before);
      await run?.close();
      t.pass();
    },
  );
}

/** How many timers and handles keep this process alive. */
function resources(): number {
  return process.getActiveResourcesInfo().length;
}
