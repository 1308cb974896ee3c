import { testPath } from "./lib/test-path.ts";

// Execute and Run by the way that every other RPC goes.
testPath("connect-node gRPC", { barePath: false });
