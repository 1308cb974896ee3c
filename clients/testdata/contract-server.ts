// Serves the tools of the contract's cases, once for each of the servers that cases name: prints
// {"addresses":{"main":"unix:/…",…},"token":"…"} in one line, and ends when its standard input does.
import { once } from "node:events";

import { serveFixture } from "../../src/conformance/fixture/serve-fixture.ts";

const { addresses, token, close } = await serveFixture();
const ended = once(process.stdin, "end");
process.stdin.resume();
process.stdout.write(`${JSON.stringify({ addresses, token })}\n`);
await ended;
await close();
