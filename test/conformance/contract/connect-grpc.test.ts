import { testPath } from "./lib/test-path.ts";

testPath("connect-node gRPC");
