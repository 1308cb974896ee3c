/** How grave a log line is. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Takes one event with plain fields; must not throw and must not block. */
export type Log = (
  level: LogLevel,
  event: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;

/** Logs nothing. */
export const silent: Log = () => {};
