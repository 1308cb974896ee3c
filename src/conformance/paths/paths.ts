import { connectNode } from "./connect-node.ts";
import { grpcJs } from "./grpc-js.ts";
import type { Path } from "./path.ts";

/** Every way that the cases take. */
export const paths: readonly Path[] = Object.freeze([grpcJs, ...connectNode]);
