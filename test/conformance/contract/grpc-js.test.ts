import { testPath } from "./lib/test-path.ts";

testPath("grpc-js gRPC");
