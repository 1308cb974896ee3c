// The services that are served beside the tool port itself, as they are generated.
export {
  Health,
  HealthCheckResponse_ServingStatus,
} from "../../gen/ts/grpc/health/v1/health_pb.ts";
export { ServerReflection } from "../../gen/ts/grpc/reflection/v1/reflection_pb.ts";
export type { ServerReflectionRequest } from "../../gen/ts/grpc/reflection/v1/reflection_pb.ts";
export { ServerReflection as ServerReflectionAlpha } from "../../gen/ts/grpc/reflection/v1alpha/reflection_pb.ts";
export { file_google_rpc_error_details } from "../../gen/ts/google/rpc/error_details_pb.ts";
