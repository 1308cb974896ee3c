const newline = 0x0a;
const none: readonly string[] = [];

/** Splits a stream of bytes into its lines, each read as UTF-8 and without its end. */
export class Lines {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  /** @param maxBytes how long a line may be */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes the next bytes and gives the lines that they complete.
   *
   * @throws RangeError for a line that is too long; it is forgotten
   */
  take(chunk: Uint8Array): readonly string[] {
    let end = chunk.indexOf(newline);
    if (end < 0) {
      this.#keep(chunk);
      return none;
    }
    const lines: string[] = [];
    let start = 0;
    while (end >= 0) {
      this.#keep(chunk.subarray(start, end));
      lines.push(this.rest());
      start = end + 1;
      end = chunk.indexOf(newline, start);
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return lines;
  }

  /** What came after the last complete line; nothing is kept. */
  rest(): string {
    const text = Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#bytes = 0;
    return text.endsWith("\r") ? text.slice(0, -1) : text;
  }

  #keep(part: Uint8Array): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) {
      this.#parts = [];
      this.#bytes = 0;
      throw new RangeError(`a line is longer than ${this.#maxBytes} bytes`);
    }
    this.#parts.push(part);
  }
}
