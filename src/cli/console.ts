import type { OutputForm, Screen } from "./terminal.ts";
import { paint, printable } from "./terminal.ts";

/** Where a command writes: results to standard output, everything else to standard error. */
export class Console {
  readonly out: Screen;
  readonly err: Screen;
  readonly form: OutputForm;
  #hasBar = false;

  constructor(out: Screen, err: Screen, form: OutputForm | undefined) {
    this.out = out;
    this.err = err;
    this.form = form ?? (out.isTTY ? "text" : "json");
  }

  /** Writes a result. */
  print(text: string): void {
    this.clearBar();
    this.out.write(text);
  }

  /** Writes a result as JSON: laid out on a terminal, else on one line. */
  printJson(value: unknown): void {
    const text = JSON.stringify(value, bigintDigits, this.out.isTTY ? 2 : undefined);
    this.print(`${text}\n`);
  }

  /** Writes a line for people. */
  note(text: string): void {
    this.clearBar();
    this.err.write(`${printable(text)}\n`);
  }

  /** Writes partial output of a tool, as it comes. */
  partial(text: string): void {
    this.clearBar();
    this.err.write(paint(this.err, "dim", printable(text)));
  }

  /** Shows how far a call is: one line that is redrawn on a terminal, else a line each. */
  progress(done: number, total: number | undefined, message: string): void {
    const count = total === undefined ? `${done}` : `${done}/${total}`;
    const line = printable(`[${count}] ${message}`).replaceAll("\n", " ").trimEnd();
    if (!this.err.isTTY) {
      this.err.write(`${line}\n`);
      return;
    }
    this.err.write(
      `\r\u001b[2K${paint(this.err, "cyan", line.slice(0, (this.err.columns || 80) - 1))}`,
    );
    this.#hasBar = true;
  }

  /** Takes the progress line away. */
  clearBar(): void {
    if (this.#hasBar) this.err.write("\r\u001b[2K");
    this.#hasBar = false;
  }
}

function bigintDigits(_key: string, value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(value.toString());
}
