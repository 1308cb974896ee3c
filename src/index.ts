export { defineTools, type ToolsDefinition, type ToolsInput } from "./define-tools.ts";
export { createToolPort, type ToolPort, type ToolPortOptions } from "./port.ts";
export { serve, type ServePortOptions } from "./serve-port.ts";
export type { ToolPortServer } from "./server/serve.ts";
export type { Limits } from "./config/limits.ts";
export {
  ConfigurationError,
  type ErrorCode,
  isToolPortError,
  type Started,
  ToolPortError,
} from "./errors.ts";
