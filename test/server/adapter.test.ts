// The server's tests once more, Execute and Run going the way that every other RPC goes.
import "./adapter-only.ts";
import "./faults.test.ts";
import "./hostile.test.ts";
import "./large.test.ts";
import "./protocols.test.ts";
import "./run.test.ts";
import "./time-and-cancel.test.ts";
