// What the contract's calls exchange, read and written without the general library.
export {
  readExecuteRequest,
  readRunRequest,
  writeExecuteResponse,
  writeRunResponse,
} from "../../gen/ts/toolport/v1/codec_pb.ts";
