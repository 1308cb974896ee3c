import test from "ava";
import fc from "fast-check";
import { isToolPortError } from "../../../src/errors.ts";
import { Frames } from "../../../src/server/bare/frames.ts";

/** A message with its prefix. */
function framed(message: Uint8Array, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flags;
  prefix.writeUInt32BE(message.byteLength, 1);
  return Buffer.concat([prefix, message]);
}

/** All that can be read now. */
function taken(frames: Frames): string[] {
  const messages = [];
  for (let next = frames.next(); next; next = frames.next()) messages.push(next.toString("hex"));
  return messages;
}

function codeOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return isToolPortError(error) ? error.code : String(error);
  }
}

test("messages come whole and in order, however their bytes are cut", (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }),
      fc.array(fc.nat(400)),
      fc.nat(3),
      (messages, cuts, every) => {
        const bytes = Buffer.concat(messages.map((message) => framed(message)));
        const places = [0, ...cuts.filter((cut) => cut < bytes.byteLength), bytes.byteLength];
        places.sort((a, b) => a - b);
        const frames = new Frames(40);
        const read: string[] = [];
        for (const [i, from] of places.entries()) {
          frames.push(bytes.subarray(from, places[i + 1] ?? from));
          // Whoever rests reads several pieces later.
          if (i % (every + 1) === 0) read.push(...taken(frames));
        }
        read.push(...taken(frames));
        t.deepEqual(
          read,
          messages.map((message) => Buffer.from(message).toString("hex")),
        );
        t.false(frames.isPartial);
      },
    ),
  );
});

test("a message that is cut off is partial", (t) => {
  const bytes = framed(Buffer.from("hello"));
  for (let end = 1; end < bytes.byteLength; end += 1) {
    const frames = new Frames(100);
    frames.push(bytes.subarray(0, end));
    t.is(frames.next(), undefined);
    t.true(frames.isPartial);
  }
});

test("a message over the limit is refused by its prefix, before it comes", (t) => {
  const frames = new Frames(100);
  frames.push(framed(Buffer.alloc(100)));
  t.is(frames.next()?.byteLength, 100);
  frames.push(framed(Buffer.alloc(101)).subarray(0, 5));
  t.is(
    codeOf(() => frames.next()),
    "MESSAGE_TOO_LARGE",
  );
});

test("flags that mean nothing here are refused", (t) => {
  for (const flags of [1, 2, 0x80, 0xff]) {
    const frames = new Frames(100);
    frames.push(framed(Buffer.from("x"), flags));
    t.is(
      codeOf(() => frames.next()),
      "MESSAGE_UNPARSABLE",
      String(flags),
    );
  }
});
