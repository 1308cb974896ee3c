import { readFileSync } from "node:fs";

import { type ErrorCode, isToolPortError } from "../../src/errors.ts";
import { ErrorKind, type ToolCall } from "../../src/wire/v1.ts";
import { isIdempotent } from "./tools-text.ts";

/** A call that a kernel made, and what it knows of it. */
export interface Asked {
  readonly runId: string;
  readonly callId: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The outcome that was acknowledged. */
  told: Told | undefined;
  /** How often it was asked at the moment. */
  inFlight: number;
  /** Whether the end that was told has been asked for again. */
  isConfirmed: boolean;
}

type Told = Pick<ToolCall, "result" | "error" | "errorKind" | "attempt" | "durationMs"> & {
  readonly structuredJson: string | undefined;
};

/** What a kernel that remembers everything found out. */
export class Ledger {
  readonly asked: Asked[] = [];
  /** What broke a promise, in sentences. */
  readonly broken: string[] = [];
  readonly counts: Record<string, number> = {};
  #made = 0;

  /** Notes a call before it is asked. */
  make(name: string, args: Asked["arguments"], callsPerRun = 25): Asked {
    this.#made += 1;
    const asked: Asked = {
      runId: `run-${Math.floor(this.#made / callsPerRun)}`,
      callId: `call-${this.#made}`,
      name,
      arguments: args,
      told: undefined,
      inFlight: 0,
      isConfirmed: false,
    };
    this.asked.push(asked);
    return asked;
  }

  /** Calls whose end is not known, and that are not being asked. */
  get open(): readonly Asked[] {
    return this.asked.filter((one) => one.told === undefined && one.inFlight === 0);
  }

  /** Calls whose end is known. */
  get acknowledged(): readonly Asked[] {
    return this.asked.filter((one) => one.told !== undefined);
  }

  /** How often what happened. */
  get summary(): string {
    return Object.entries(this.counts)
      .map(([what, count]) => `${what}: ${count}`)
      .join(", ");
  }

  /**
   * The end of a call was told.
   *
   * @param isAgain whether it had been told before the call was asked this time
   */
  outcome(asked: Asked, call: ToolCall, isAgain: boolean): void {
    const { result, error, errorKind, attempt, durationMs, structuredJson } = call;
    const told: Told = { result, error, errorKind, attempt, durationMs, structuredJson };
    if ((result === undefined) === (error === undefined)) {
      this.#breach(asked, "has both a result and an error, or neither");
    }
    if (call.id !== asked.callId || call.name !== asked.name) {
      this.#breach(asked, `was answered as ${call.id} of ${call.name}`);
    }
    if (asked.told === undefined) {
      asked.told = told;
      this.#count(kindOf(call));
      const text = result ?? error ?? "";
      const isOwn = text.includes(`${asked.runId} ${asked.callId} `);
      if (!isOwn && errorKind !== ErrorKind.INDETERMINATE) {
        this.#breach(asked, `was told the end of another: ${text}`);
      }
      return;
    }
    asked.isConfirmed = true;
    this.#count("asked again once acknowledged");
    if (JSON.stringify(told) !== JSON.stringify(asked.told)) {
      this.#breach(asked, `changed: ${JSON.stringify(asked.told)} became ${JSON.stringify(told)}`);
    }
    if (isAgain && !call.replayed) this.#breach(asked, "ended a second time");
  }

  /** A call ended in a fault; it is open again. */
  fault(asked: Asked, error: unknown, allowed: readonly ErrorCode[]): void {
    const code = isToolPortError(error) ? error.code : undefined;
    this.#count(code ?? "errors");
    if (!code || !allowed.includes(code)) this.#breach(asked, `ended in ${code}: ${String(error)}`);
  }

  /** Reads the lines that the tools wrote, and holds them against what was told. */
  audit(startsPath: string): { readonly starts: number; readonly twice: number } {
    const starts = new Map<string, number>();
    const lines = readFileSync(startsPath, "utf8").split("\n").filter(Boolean);
    for (const line of lines) {
      const [name = "", runId = "", callId = ""] = line.split(" ");
      const key = `${name} ${runId} ${callId}`;
      starts.set(key, (starts.get(key) ?? 0) + 1);
    }
    let twice = 0;
    for (const asked of this.asked) {
      const count = starts.get(`${asked.name} ${asked.runId} ${asked.callId}`) ?? 0;
      if (count > 1 && !isIdempotent(asked.name)) {
        twice += 1;
        this.#breach(asked, `started ${count} times`);
      }
      if (asked.told === undefined) this.#breach(asked, "never ended");
      else if (count === 0 && asked.told.errorKind !== ErrorKind.INDETERMINATE) {
        this.#breach(asked, "has an outcome and never started");
      } else if (count > asked.told.attempt && isIdempotent(asked.name)) {
        this.#breach(asked, `started ${count} times in ${asked.told.attempt} attempts`);
      }
    }
    return { starts: lines.length, twice };
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  #breach(asked: Asked, what: string): void {
    this.broken.push(`${asked.name} ${asked.runId} ${asked.callId} ${what}`);
  }
}

function kindOf(call: ToolCall): string {
  if (call.errorKind === ErrorKind.INDETERMINATE) return "INDETERMINATE";
  return call.replayed ? "replays" : "outcomes";
}
