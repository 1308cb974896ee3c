import test from "ava";
import { connect } from "../../src/client/index.ts";
import { serve } from "../../src/serve-port.ts";
import { loadSource } from "./lib/source.ts";

const source = `import { threadId } from "node:worker_threads";
import type { ToolContext } from "toolport";

/** Says where it runs, and what it was given. @isolate */
export function away({ at, id }: { at: Date; id: bigint }, ctx: ToolContext): string {
  return JSON.stringify([threadId > 0, at instanceof Date, typeof id, String(id), ctx.callId]);
}
/** Counts in its thread. @isolate */
export async function* count(to: number, signal: AbortSignal): AsyncGenerator<number> {
  for (let n = 1; n <= to && !signal.aborted; n += 1) yield n;
}
/** Stays. */
export function home(): boolean { return threadId > 0; }`;

test("an isolated plain function gets the values of its types in its thread", async (t) => {
  const { port, functions } = await loadSource(t, source, ["away", "count", "home"]);
  t.is(functions.from, "source");
  const server = await serve(port(), { address: "127.0.0.1:0", allowUnauthenticated: true });
  const client = connect({ address: server.address });
  t.teardown(async () => {
    client.close();
    await server.close(0);
  });
  const call = async (name: string, argumentsJson: string): Promise<string> => {
    const { result, error } = await client.execute({ name, argumentsJson, callId: "c1" }).result;
    return result ?? `failed: ${error}`;
  };
  t.is(
    await call("away", '{"at":"2031-02-03T04:05:06Z","id":90071992547409931}'),
    '[true,true,"bigint","90071992547409931","c1"]',
  );
  t.regex(
    await call("away", '{"at":"soon","id":1}'),
    /^failed: InvalidArguments: at must match format /u,
  );
  t.is(await call("count", '{"to":3}'), "3");
  t.is(await call("home", "{}"), "false");
});
