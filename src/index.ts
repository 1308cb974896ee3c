export { defineTool, type DefinedTool, type ToolOptions } from "./registry/define-tool.ts";
export { register, type RegisteredTool, type RegistrationOptions } from "./registry/register.ts";
export { describeTool, type ToolReading } from "./registry/describe-tool.ts";
export type { ToolSchema, ToolTraits } from "./registry/tool-options.ts";
export type { BuiltRegistry, Capability } from "./registry/build-registry.ts";
export type { ContributedTool } from "./registry/contributed-tool.ts";
export { narrowToolsForIntent } from "./selection/intent-routing.ts";
export { remapToolCallIds } from "./domain/remap-tool-call-ids.ts";
export { defineTools, type ToolsDefinition, type ToolsInput } from "./define-tools.ts";
export { loadToolsFile } from "./config/tools-file.ts";
export { createToolPort, openToolPort, type ToolPort, type ToolPortOptions } from "./port.ts";
export {
  type HttpMountOptions,
  mcp,
  type McpMount,
  type MountOptions,
  type MountTarget,
  type RestartOptions,
  type StdioMountOptions,
} from "./mounts/mcp.ts";
export type { MountStatus } from "./mounts/mounted-server.ts";
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
export type { ContentPart, OutputValue } from "./domain/call.ts";
export type { JsonObject, JsonSchema, JsonValue } from "./domain/json.ts";
export type { RunContext } from "./domain/run.ts";
export type { Registry, Tool, ToolContext, ToolDescriptor, ToolLimits } from "./domain/tool.ts";
export type {
  HistoryMessage,
  IntentVerdict,
  SelectableTool,
  SelectionContext,
  SelectionState,
  StageAction,
  StageRecord,
} from "./domain/selection.ts";
export type {
  ForcedChoiceResolver,
  IntentRouting,
  PaletteResolver,
  PaletteTable,
  SelectionConfig,
  Stage,
  StageAnswer,
  StageInput,
  StageTool,
} from "./selection/config.ts";
export type { Selection, Selector } from "./selection/selector.ts";
export type { Journal } from "./journal/journal.ts";
export { memoryJournal, type MemoryJournalOptions } from "./journal/memory.ts";
export type { Retention } from "./journal/retention.ts";
export { sqliteJournal, type SqliteJournalOptions } from "./journal/sqlite.ts";
export type { Log, LogLevel } from "./internal/log.ts";
