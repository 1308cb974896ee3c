import { ToolPortError } from "../../errors.ts";

// The gRPC framing of messages: a byte of flags, four of length, the message.
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md

/** What comes before each message, in bytes. */
export const prefixBytes = 5;

/**
 * Cuts a request's bytes into messages, however they come: several in a piece, or one in many.
 * Pieces are put together once, when a message is whole.
 */
export class Frames {
  readonly #maxMessageBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** How many bytes must be there before it is worth looking. */
  #needed = prefixBytes;
  #at = 0;

  /** @param maxMessageBytes the largest message that is taken */
  constructor(maxMessageBytes: number) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Whether there are bytes of a message that is not whole. */
  get isPartial(): boolean {
    return this.#bytes > 0;
  }

  /** Adds a piece of the request's body; what {@link next} gave before is taken. */
  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.byteLength;
  }

  /**
   * The next whole message; undefined where it has not come yet. It shares its bytes with the pieces.
   *
   * @throws ToolPortError MESSAGE_TOO_LARGE before such a message is read, MESSAGE_UNPARSABLE
   */
  next(): Buffer | undefined {
    if (this.#bytes < this.#needed) return undefined;
    let head = this.#joined();
    if (this.#needed === prefixBytes) {
      this.#needed = prefixBytes + this.#lengthIn(head);
      if (this.#bytes < this.#needed) return undefined;
      head = this.#joined();
    }
    const start = this.#at + prefixBytes;
    const end = this.#at + this.#needed;
    this.#bytes -= this.#needed;
    this.#needed = prefixBytes;
    this.#at = end;
    if (this.#bytes === 0) {
      this.#pieces = [];
      this.#at = 0;
    }
    return head.subarray(start, end);
  }

  #joined(): Buffer {
    const [first] = this.#pieces;
    if (this.#pieces.length === 1 && first) return first;
    const whole = Buffer.concat(this.#pieces);
    const left = whole.subarray(this.#at);
    this.#pieces = [left];
    this.#at = 0;
    return left;
  }

  #lengthIn(head: Buffer): number {
    const flags = head[this.#at] ?? 0;
    const length = head.readUInt32BE(this.#at + 1);
    if (length > this.#maxMessageBytes) {
      throw new ToolPortError(
        "MESSAGE_TOO_LARGE",
        `a message is larger than the limit of ${this.#maxMessageBytes} bytes`,
      );
    }
    if (flags === 0) return length;
    throw unparsable(
      flags === 1
        ? "a message is compressed, and no grpc-encoding says how"
        : `a message has the flags ${flags}, which mean nothing here`,
    );
  }
}

/** The fault of bytes that are not what they should be. */
export function unparsable(why: string): ToolPortError {
  return new ToolPortError(
    "MESSAGE_UNPARSABLE",
    `the request's bytes are no message of the expected type: ${why}`,
  );
}
