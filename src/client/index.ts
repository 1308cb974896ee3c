export type { ConnectOptions, RequestOptions } from "./channel.ts";
export type { CallInput, ExecuteOptions } from "./call-input.ts";
export { connect, type ToolPortClient } from "./connect.ts";
export { type Execution, type ExecutionEvent } from "./execution.ts";
export type { Host, HostCall, Run, RunOptions } from "./run.ts";
export { type ErrorCode, isToolPortError, type Started, ToolPortError } from "../errors.ts";
