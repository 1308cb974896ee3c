import test from "ava";
import * as fc from "fast-check";

import type { ContentPart, Outcome } from "../../src/domain/call.ts";
import { decodeOutcome, encodeOutcome } from "../../src/journal/outcome-text.ts";
import { seeded } from "./seeded.ts";

const text = fc.string({ unit: "binary" });
const part: fc.Arbitrary<ContentPart> = fc.oneof(
  fc.record({ mimeType: text, data: fc.uint8Array() }),
  fc.record({ mimeType: text, uri: text, name: text }),
);
const common = {
  content: fc.array(part),
  durationMs: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
  attempt: fc.nat(),
  replayed: fc.boolean(),
};
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({
    ...common,
    ok: fc.constant(true as const),
    result: text,
    structuredJson: fc.option(text, { nil: undefined }),
  }),
  fc.record({
    ...common,
    ok: fc.constant(false as const),
    errorKind: fc.constantFrom("RAISED", "TIMED_OUT", "INDETERMINATE"),
    error: text,
  }),
);

test("Every outcome comes back as it was stored", (t) => {
  fc.assert(
    fc.property(outcome, (original) => {
      const read = decodeOutcome(encodeOutcome(original), original.replayed);
      t.deepEqual(read, original);
    }),
    seeded(t),
  );
});
