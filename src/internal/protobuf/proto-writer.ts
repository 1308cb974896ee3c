import { Buffer } from "node:buffer";

// The encoding of Protocol Buffers, as far as our messages need it.
// https://protobuf.dev/programming-guides/encoding/
//
// Messages are written one behind the other into a block, and a block that is full is left to who
// took parts of it.

/** How large a block is, in bytes; one for a larger message is made for it. */
const blockBytes: number = 64 * 1024;

/** Texts up to this many characters are written here rather than by the engine. */
const shortText = 24;

/** Texts from this many characters on are measured before they are written. */
const longText = 4096;

/** Room that a message may take beyond what is expected of it, in bytes. */
const slackBytes = 256;

/** Room for a tag and a length, in bytes. */
const headBytes = 10;

/** Writes the fields of messages. A field's tag is its number times 8, and its wire type. */
export class ProtoWriter {
  #block: Buffer = Buffer.allocUnsafeSlow(blockBytes);
  #start = 0;
  #at = 0;
  #lengthBytes = 1;

  /**
   * Begins a message.
   *
   * @param room how many bytes its caller writes before the fields, at {@link ProtoWriter.take}
   * @param expected about how many bytes it will have
   */
  begin(room: number, expected: number): void {
    this.#start = this.#at;
    this.#need(room + expected + slackBytes);
    this.#at += room;
    this.#lengthBytes = lengthBytesOf(expected);
  }

  /** The message's bytes, after the room that was asked for. They are the caller's. */
  take(): Buffer {
    return this.#block.subarray(this.#start, this.#at);
  }

  /** Gives up a message that was begun. */
  drop(): void {
    this.#at = this.#start;
  }

  /** @returns what {@link ProtoWriter.close} wants to know */
  open(tag: number): number {
    this.#need(headBytes);
    this.#varint(tag);
    this.#at += this.#lengthBytes;
    // Relative, since the block may be replaced meanwhile.
    return this.#at - this.#start;
  }

  /** Ends a message within a message. */
  close(mark: number): void {
    const from = this.#start + mark;
    const length = this.#at - from;
    const moved = lengthBytesOf(length) - this.#lengthBytes;
    if (moved !== 0) {
      this.#need(headBytes);
      const begin = this.#start + mark;
      this.#block.copyWithin(begin + moved, begin, this.#at);
      this.#at += moved;
    }
    const end = this.#at;
    this.#at = this.#start + mark - this.#lengthBytes;
    this.#varint(length);
    this.#at = end;
  }

  string(tag: number, text: string): void {
    const { length } = text;
    if (length >= longText) return this.#longString(tag, text);
    this.#need(length * 3 + headBytes);
    this.#varint(tag);
    const at = this.#at;
    if (length <= shortText && this.#ascii(text, at + 1)) {
      this.#block[at] = length;
      this.#at = at + 1 + length;
      return undefined;
    }
    const reserved = lengthBytesOf(length);
    const bytes = this.#block.write(text, at + reserved, "utf8");
    const moved = lengthBytesOf(bytes) - reserved;
    if (moved > 0) {
      this.#block.copyWithin(at + reserved + moved, at + reserved, at + reserved + bytes);
    }
    this.#varint(bytes);
    this.#at += bytes;
    return undefined;
  }

  bytes(tag: number, value: Uint8Array): void {
    this.#need(value.byteLength + headBytes);
    this.#varint(tag);
    this.#varint(value.byteLength);
    this.#block.set(value, this.#at);
    this.#at += value.byteLength;
  }

  bool(tag: number, value: boolean): void {
    this.uint32(tag, value ? 1 : 0);
  }

  uint32(tag: number, value: number): void {
    this.#need(headBytes);
    this.#varint(tag);
    this.#varint(value);
  }

  int32(tag: number, value: number): void {
    if (value < 0) this.uint64(tag, BigInt.asUintN(64, BigInt(value)));
    else this.uint32(tag, value);
  }

  uint64(tag: number, value: bigint): void {
    this.#need(2 * headBytes);
    this.#varint(tag);
    if (value <= Number.MAX_SAFE_INTEGER) return this.#varint(Number(value));
    let rest = value;
    for (; rest > 0x7fn; rest >>= 7n) this.#block[this.#at++] = Number(rest & 0x7fn) | 0x80;
    this.#block[this.#at++] = Number(rest);
    return undefined;
  }

  double(tag: number, value: number): void {
    this.#need(2 * headBytes);
    this.#varint(tag);
    this.#at = this.#block.writeDoubleLE(value, this.#at);
  }

  #longString(tag: number, text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#need(bytes + headBytes);
    this.#varint(tag);
    this.#varint(bytes);
    this.#at += this.#block.write(text, this.#at, "utf8");
  }

  /** @returns false where a character is none, and what was written is to be written anew */
  #ascii(text: string, at: number): boolean {
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) return false;
      this.#block[at + i] = code;
    }
    return true;
  }

  /** @param value a safe integer, not negative */
  #varint(value: number): void {
    let rest = value;
    for (; rest > 0x7f_ff_ff_ff; rest = Math.floor(rest / 128)) {
      this.#block[this.#at++] = (rest % 128) | 0x80;
    }
    for (; rest > 0x7f; rest >>>= 7) this.#block[this.#at++] = (rest & 0x7f) | 0x80;
    this.#block[this.#at++] = rest;
  }

  /** Makes sure of some bytes more; the message that is being written moves where it has to. */
  #need(bytes: number): void {
    if (this.#at + bytes <= this.#block.byteLength) return;
    const written = this.#at - this.#start;
    // Twice what there is, so that a message in many parts is not moved for each of them.
    const size = Math.max(blockBytes, 2 * written + bytes);
    const block = Buffer.allocUnsafeSlow(size);
    this.#block.copy(block, 0, this.#start, this.#at);
    this.#block = block;
    this.#start = 0;
    this.#at = written;
  }
}

/** How many bytes the length of so many bytes takes. */
function lengthBytesOf(bytes: number): number {
  if (bytes < 0x80) return 1;
  if (bytes < 0x40_00) return 2;
  if (bytes < 0x20_00_00) return 3;
  return bytes < 0x10_00_00_00 ? 4 : 5;
}
