/** The messages and the service of the contract `toolport.v1`, generated from its .proto files. */
export * from "../../gen/ts/toolport/v1/tool_pb.ts";
export * from "../../gen/ts/toolport/v1/selection_pb.ts";
export * from "../../gen/ts/toolport/v1/tool_port_service_pb.ts";
export { ErrorInfoSchema, RetryInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.ts";
export type { ErrorInfo, RetryInfo } from "../../gen/ts/google/rpc/error_details_pb.ts";
export { StatusSchema } from "../../gen/ts/google/rpc/status_pb.ts";
export type { Status } from "../../gen/ts/google/rpc/status_pb.ts";
