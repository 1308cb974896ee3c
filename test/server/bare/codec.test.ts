import {
  type DescMessage,
  equals,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import test, { type ExecutionContext } from "ava";
import fc from "fast-check";
import { readExecuteRequest, readRunRequest } from "../../../src/wire/codec.ts";
import { isToolPortError } from "../../../src/errors.ts";
import { ProtoReader } from "../../../src/internal/protobuf/proto-reader.ts";
import {
  decodeExecuteRequest,
  decodeRunRequest,
  frameExecuteResponse,
  frameRunResponse,
} from "../../../src/server/bare/codec.ts";
import {
  ExecuteRequestSchema,
  ExecuteResponseSchema,
  RunRequestSchema,
  RunResponseSchema,
} from "../../../src/wire/v1.ts";
import { messagesOf } from "./messages.ts";

// What a codec may not do is differ from the library that the adapter path uses.

const prefixBytes = 5;

const writers = [
  { desc: ExecuteResponseSchema, frame: frameExecuteResponse },
  { desc: RunResponseSchema, frame: frameRunResponse },
] as const;

const readers = [
  { desc: ExecuteRequestSchema, decode: decodeExecuteRequest, read: readExecuteRequest },
  { desc: RunRequestSchema, decode: decodeRunRequest, read: readRunRequest },
] as const;

for (const { desc, frame } of writers) {
  test(`${desc.name} is written in the library's bytes, framed`, (t) => {
    const weights = fc.constantFrom(0, 1, 100, 200, 20_000, 70_000, 300_000);
    fc.assert(
      fc.property(messagesOf<DescMessage>(desc), weights, (message, weight) => {
        const bytes = frame(message as never, weight);
        t.deepEqual([...bytes.subarray(0, 1)], [0]);
        t.is(bytes.readUInt32BE(1), bytes.byteLength - prefixBytes);
        t.true(bytes.subarray(prefixBytes).equals(toBinary<DescMessage>(desc, message)));
      }),
      { numRuns: 400 },
    );
    t.pass();
  });

  test(`what was written of ${desc.name} stays as it is while others are written`, (t) => {
    fc.assert(
      fc.property(fc.array(messagesOf<DescMessage>(desc), { maxLength: 12 }), (messages) => {
        const frames = messages.map((message) => frame(message as never, 10));
        for (const [i, message] of messages.entries()) {
          const bytes = frames[i]?.subarray(prefixBytes);
          t.true(bytes?.equals(toBinary<DescMessage>(desc, message)));
        }
      }),
      { numRuns: 100 },
    );
    t.pass();
  });
}

for (const { desc, decode, read } of readers) {
  test(`${desc.name} is read as the library reads it`, (t) => {
    fc.assert(
      fc.property(messagesOf<DescMessage>(desc), (message) => {
        const bytes = Buffer.from(toBinary<DescMessage>(desc, message));
        t.deepEqual(decode(bytes), fromBinary<DescMessage>(desc, bytes) as never);
      }),
      { numRuns: 400 },
    );
    t.pass();
  });

  test(`${desc.name} twice in a row, which the encoding merges, is merged`, (t) => {
    const pairs = fc.tuple(messagesOf<DescMessage>(desc), messagesOf<DescMessage>(desc));
    fc.assert(
      fc.property(pairs, (pair) => {
        const bytes = Buffer.concat(pair.map((message) => toBinary<DescMessage>(desc, message)));
        t.deepEqual(decode(bytes), fromBinary<DescMessage>(desc, bytes) as never);
      }),
      { numRuns: 200 },
    );
    t.pass();
  });

  test(`fields of ${desc.name} that are unknown are no fault`, (t) => {
    fc.assert(
      fc.property(messagesOf<DescMessage>(desc), unknownFields, (message, unknown) => {
        const known = toBinary<DescMessage>(desc, message);
        for (const parts of [
          [known, unknown],
          [unknown, known],
        ]) {
          const bytes = Buffer.concat(parts);
          t.deepEqual(decode(bytes), fromBinary<DescMessage>(desc, bytes) as never);
        }
      }),
      { numRuns: 200 },
    );
    t.pass();
  });

  test(`bytes that are damaged are ${desc.name} exactly where the library says so`, (t) => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(messagesOf<DescMessage>(desc), damage, fc.nat(), (message, changes, cut) => {
        const whole = toBinary<DescMessage>(desc, message);
        const bytes = Buffer.from(whole.subarray(0, whole.byteLength - (cut % 3)));
        for (const [at, value] of changes) bytes[at % Math.max(bytes.byteLength, 1)] = value;
        t.deepEqual(
          outcome(t, () => decode(bytes)),
          outcome(t, () => fromBinary(desc as never, bytes)),
        );
      }),
      { numRuns: 1000 },
    );
    t.pass();
  });

  test(`any bytes are ${desc.name} exactly where the library says so`, (t) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (any) => {
        const bytes = Buffer.from(any);
        t.deepEqual(
          outcome(t, () => decode(bytes)),
          outcome(t, () => fromBinary(desc as never, bytes)),
        );
      }),
      { numRuns: 2000 },
    );
    t.pass();
  });

  test(`${desc.name} as clients write it needs no second reader`, (t) => {
    fc.assert(
      fc.property(messagesOf<DescMessage>(desc).filter(isOrdinary), (message) => {
        const bytes = Buffer.from(toBinary<DescMessage>(desc, message));
        const own = read(new ProtoReader(bytes), bytes.byteLength);
        return equals<DescMessage>(desc, own, fromBinary<DescMessage>(desc, bytes));
      }),
      { numRuns: 200 },
    );
    t.pass();
  });
}

/** Fields beyond those of any message here, of each wire type. */
const unknownFields: fc.Arbitrary<Uint8Array> = fc
  .array(fc.tuple(fc.integer({ min: 200, max: 2 ** 29 - 1 }), fc.nat(3), fc.uint8Array()), {
    minLength: 1,
    maxLength: 3,
  })
  .map((fields) => {
    const writer = new BinaryWriter();
    for (const [number, kind, bytes] of fields) {
      if (kind === 0) writer.tag(number, WireType.Varint).uint64(BigInt(bytes.byteLength) << 50n);
      else if (kind === 1) writer.tag(number, WireType.Bit64).double(bytes.byteLength);
      else if (kind === 2) writer.tag(number, WireType.LengthDelimited).bytes(bytes);
      else {
        const inner = writer.tag(number, WireType.StartGroup).tag(1, WireType.Varint);
        inner.uint32(1).tag(number, WireType.EndGroup);
      }
    }
    return writer.finish();
  });

/** What comes of reading: a message, or a fault of which only the kind is ours to say. */
function outcome<T>(t: ExecutionContext, read: () => T): T | "fault" {
  try {
    return read();
  } catch (error) {
    if (isToolPortError(error)) t.is(error.code, "MESSAGE_UNPARSABLE");
    return "fault";
  }
}

/** Negative enum values, numbers from 2^49 on and a key `__proto__` are the library's to read. */
function isOrdinary(message: MessageShape<DescMessage>): boolean {
  const isRare = (value: unknown): boolean => {
    if (typeof value === "bigint") return value >= 2n ** 49n;
    if (typeof value === "number") return value < 0;
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return false;
    return Object.hasOwn(value, "__proto__") || Object.values(value).some(isRare);
  };
  return !isRare(message);
}
