// Serves the contract's fixture for the runners of other languages: prints
// {"servers":{"main":"unix:/…","narrow":…,"guarded":…,"empty":…},"token":"…"} in one line, and ends
// when its standard input does.
import { once } from "node:events";
import { serveFixture } from "../../../src/conformance/fixture/serve-fixture.ts";

const served = await serveFixture();
const ended = once(process.stdin, "end");
process.stdin.resume();
process.stdout.write(`${JSON.stringify({ servers: served.addresses, token: served.token })}\n`);
await ended;
await served.close();
