import type { Buffer } from "node:buffer";

/** Texts up to this many bytes are looked through here before the engine makes them. */
const shortText = 128;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads the fields of a message that is written as writers write them. At anything else it throws,
 * and the bytes are for a reader that knows all of the encoding.
 */
export class ProtoReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** How far it has read. */
  get position(): number {
    return this.#at;
  }

  /** A field's number times 8, and its wire type. */
  tag(): number {
    return this.#varint32();
  }

  /** Where a message that begins here, with its length, ends. */
  end(): number {
    const length = this.#varint32();
    const end = this.#at + length;
    return end <= this.#bytes.byteLength ? end : this.fail();
  }

  string(): string {
    const end = this.end();
    const start = this.#at;
    this.#at = end;
    if (start === end) return "";
    if (end - start <= shortText && this.#isAscii(start, end)) {
      return this.#bytes.toString("latin1", start, end);
    }
    return utf8.decode(this.#bytes.subarray(start, end));
  }

  /** Reads an entry of a map of texts. */
  entry(map: Record<string, string>): void {
    const end = this.end();
    let key = "";
    let value = "";
    while (this.#at < end) {
      const tag = this.tag();
      if (tag === 10) key = this.string();
      else if (tag === 18) value = this.string();
      else this.fail();
    }
    if (this.#at !== end || key === "__proto__") this.fail();
    map[key] = value;
  }

  bool(): boolean {
    const value = this.#byte();
    return value > 1 ? this.fail() : value === 1;
  }

  uint32(): number {
    return this.#varint32();
  }

  int32(): number {
    const value = this.#varint32();
    return value > 0x7f_ff_ff_ff ? this.fail() : value;
  }

  uint64(): bigint {
    let value = 0;
    let scale = 1;
    // Seven bytes carry 49 bits, which a number holds exactly.
    for (let i = 0; i < 7; i += 1) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return BigInt(value);
      scale *= 128;
    }
    return this.fail();
  }

  /** The bytes are something else than this reader takes. */
  fail(): never {
    throw unexpected;
  }

  #isAscii(start: number, end: number): boolean {
    for (let i = start; i < end; i += 1) if ((this.#bytes[i] ?? 0) > 0x7f) return false;
    return true;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) return this.fail();
    this.#at += 1;
    return byte;
  }

  #varint32(): number {
    let byte = this.#byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      byte = this.#byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    byte = this.#byte();
    return byte < 0x10 ? (value | (byte << 28)) >>> 0 : this.fail();
  }
}

/** One for all: nobody reads where it was thrown. */
const unexpected = new Error("the bytes are not as this reader takes them");
