// Serves every case's own set on a socket of its own, for the runners of other languages: prints
// {"cases":{"<case id>":"unix:/…"}} in one line, and ends when its standard input does.
import { once } from "node:events";
import { serveCases } from "./lib/serve-cases.ts";

const served = await serveCases();
const ended = once(process.stdin, "end");
process.stdin.resume();
process.stdout.write(`${JSON.stringify({ cases: served.addresses })}\n`);
await ended;
await served.close();
