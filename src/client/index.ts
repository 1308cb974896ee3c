export type { ConnectOptions, RequestOptions } from "./channel.ts";
export { type CallInput, connect, type ExecuteOptions, type ToolPortClient } from "./connect.ts";
export { type Execution, type ExecutionEvent } from "./execution.ts";
export { type ErrorCode, isToolPortError, type Started, ToolPortError } from "../errors.ts";
