import type { Log, LogLevel } from "../internal/log.ts";
import { paint, printable, type Screen } from "./terminal.ts";

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/**
 * Logs to a screen: a line an event, and the stack of an error below it. Fields are written as
 * `name=value`.
 *
 * @param least the least grave level that is written
 */
export function createScreenLog(screen: Screen, least: LogLevel): Log {
  return (level, event, fields = {}) => {
    if (levels.indexOf(level) < levels.indexOf(least)) return;
    const parts = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${valueText(value)}`);
    const time = paint(screen, "dim", new Date().toISOString());
    const style = level === "error" ? "red" : level === "warn" ? "yellow" : "dim";
    const line = [time, paint(screen, style, level), event, ...parts].join(" ");
    screen.write(`${line}\n${stackIn(fields)}`);
  };
}

function valueText(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(printable(`${value.name}: ${value.message}`));
  if (typeof value === "string") {
    return /^[\w:./@-]+$/u.test(value) ? value : JSON.stringify(printable(value));
  }
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  try {
    return printable(JSON.stringify(value) ?? String(value));
  } catch {
    return "[unprintable]";
  }
}

function stackIn(fields: Readonly<Record<string, unknown>>): string {
  const error = Object.values(fields).find((value) => value instanceof Error);
  const frames = (error?.stack ?? "").split("\n").filter((line) => /^\s+at /u.test(line));
  return frames.map((line) => `    ${printable(line.trim())}\n`).join("");
}
