import { closeSync, openSync, readSync } from "node:fs";

const headerBytes = 32;
const frameHeaderBytes = 24;

/**
 * Looks for damage in a write-ahead log before SQLite reads it, because SQLite stops at the first
 * frame that misses its checksum and drops all that follow without a word.
 *
 * A transaction begins only when the one before it is on the disk. So a bad frame in the last
 * transaction is a torn tail that nobody was told of, and one with a later transaction behind it is
 * damage to a commit that somebody was. Damage to the very last transaction looks like a torn tail
 * and cannot be told from one.
 *
 * @param path the log's file; one that does not exist is sound
 * @returns the damaged part, or undefined where the log is sound or only torn at its tail
 */
export function findWalDamage(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return findDamage(file);
  } finally {
    closeSync(file);
  }
}

function findDamage(file: number): string | undefined {
  const header = Buffer.alloc(headerBytes);
  if (readSync(file, header, 0, headerBytes, 0) < headerBytes) return undefined;
  const magic = header.readUInt32BE(0);
  const sum = new WalSum(magic === 0x377f_0682);
  sum.add(header, 0, 24);
  const pageBytes = header.readUInt32BE(8);
  if ((magic & ~1) !== 0x377f_0682 || !sum.matches(header, 24) || pageBytes < 512) {
    const first = Buffer.alloc(frameHeaderBytes);
    readSync(file, first, 0, frameHeaderBytes, headerBytes);
    return first.some((byte) => byte !== 0) ? "its header" : undefined;
  }

  const frame = Buffer.alloc(frameHeaderBytes + pageBytes);
  let pages = 0;
  let bad: { readonly index: number; readonly pages: number } | undefined;
  let committed = false;
  for (let index = 1; ; index++) {
    const offset = headerBytes + (index - 1) * frame.length;
    if (readSync(file, frame, 0, frame.length, offset) < frame.length) return undefined;
    // Frames of an earlier round of the log bear other salts; they are in the database already.
    const current = header.compare(frame, 8, 16, 16, 24) === 0;
    // The last frame of a transaction says how many pages the database has then.
    const commit = current ? frame.readUInt32BE(4) : 0;
    if (bad === undefined) {
      sum.add(frame, 0, 8);
      sum.add(frame, frameHeaderBytes, frame.length);
      if (!current || !sum.matches(frame, 16)) bad = { index, pages: commit };
      else if (commit > 0) pages = commit;
      continue;
    }
    if (current && committed) return `frame ${bad.index}`;
    if (commit === 0) continue;
    committed = true;
    // A bad frame was a commit itself if its count of pages lies between those of its neighbours.
    if (bad.pages > 0 && bad.pages >= pages && bad.pages <= commit) return `frame ${bad.index}`;
  }
}

/** The running checksum of a write-ahead log, as the file format defines it. */
class WalSum {
  readonly #littleEndian: boolean;
  #first = 0;
  #second = 0;

  constructor(littleEndian: boolean) {
    this.#littleEndian = littleEndian;
  }

  add(bytes: Buffer, start: number, end: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = start; at < end; at += 8) {
      this.#first = (this.#first + view.getUint32(at, this.#littleEndian) + this.#second) >>> 0;
      this.#second =
        (this.#second + view.getUint32(at + 4, this.#littleEndian) + this.#first) >>> 0;
    }
  }

  matches(bytes: Buffer, at: number): boolean {
    return bytes.readUInt32BE(at) === this.#first && bytes.readUInt32BE(at + 4) === this.#second;
  }
}
