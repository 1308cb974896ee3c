import {
  create,
  type DescField,
  type DescMessage,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import fc from "fast-check";

const texts: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
  fc.string({ unit: "binary", minLength: 100, maxLength: 140 }),
  // Of one, two and three bytes a character, about where lengths need a byte more, and far above.
  fc
    .tuple(
      fc.constantFrom("a", "é", "€", "😀"),
      fc.constantFrom(23, 24, 25, 42, 43, 63, 64, 127, 128, 129, 4095, 4096, 5461, 5462, 70_000),
    )
    .map(([character, count]) => character.repeat(count)),
  fc.constantFrom("", "\u{feff}", "\u{feff}a", "\0", "\ud800", "a\udc00b"),
);

const scalars: Readonly<Partial<Record<ScalarType, fc.Arbitrary<unknown>>>> = {
  [ScalarType.STRING]: texts,
  [ScalarType.BYTES]: fc.oneof(fc.uint8Array(), fc.constant(new Uint8Array(70_000).fill(7))),
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.UINT32]: fc.oneof(fc.nat(), fc.constantFrom(0, 127, 128, 2 ** 28, 2 ** 32 - 1)),
  [ScalarType.INT32]: fc.integer(),
  [ScalarType.UINT64]: fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    fc.constantFrom(
      0n,
      127n,
      128n,
      2n ** 49n - 1n,
      2n ** 49n,
      2n ** 53n,
      2n ** 63n,
      2n ** 64n - 1n,
    ),
  ),
  [ScalarType.DOUBLE]: fc.oneof(fc.double(), fc.constantFrom(0, -0, 1, -1)),
};

/** Messages of a type, with whatever its fields may hold. */
export function messagesOf<S extends DescMessage>(desc: S): fc.Arbitrary<MessageShape<S>> {
  return inits(desc, 0).map((init) => create(desc, init as never));
}

function inits(desc: DescMessage, depth: number): fc.Arbitrary<object> {
  const members = desc.members.map((member) => {
    const { localName } = member;
    if (member.kind === "field") {
      return maybe(fieldValues(member, depth)).map((value) => ({ [localName]: value }));
    }
    const cases = member.fields.map((field) =>
      fieldValues(field, depth).map((value) => ({ case: field.localName, value })),
    );
    return maybe(fc.oneof(...cases)).map((value) => (value ? { [localName]: value } : {}));
  });
  return fc.tuple(...members).map((parts) => Object.assign({}, ...parts) as object);
}

function maybe<T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(values, { nil: undefined, freq: 3 });
}

function fieldValues(field: DescField, depth: number): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case "list":
      return fc.array(valuesOf(field, depth), { maxLength: depth > 2 ? 1 : 4 });
    case "map":
      // An entry of this name is the prototype's in an object that is written in the source.
      return fc.dictionary(texts, scalarsOf(field.scalar), { maxKeys: 4, noNullPrototype: true });
    default:
      return valuesOf(field, depth);
  }
}

function valuesOf(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.message) return inits(field.message, depth + 1);
  if (field.enum) return fc.oneof(fc.constantFrom(...numbersOf(field.enum)), fc.integer());
  return scalarsOf(field.scalar);
}

function numbersOf({ values }: { readonly values: readonly { readonly number: number }[] }) {
  return values.map(({ number }) => number);
}

function scalarsOf(scalar: ScalarType | undefined): fc.Arbitrary<unknown> {
  const values = scalar && scalars[scalar];
  if (!values) throw new Error(`there are no values for the scalar ${scalar}`);
  return values;
}
