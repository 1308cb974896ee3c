import type { JsonSchema, JsonValue } from "../../domain/json.ts";
import { ConfigurationError } from "../../errors.ts";
import { inlineRefs } from "./inline-refs.ts";
import { copyJson, isObject, type MutableObject, setMember } from "./json-copy.ts";
import { convertKey, optionsOf } from "./library-options.ts";
import type { StandardSchema } from "./standard-schema.ts";

/** The input side of a library's schema as JSON Schema, with the marks in it. */
export interface DescribedSchema {
  readonly schema: JsonSchema;
  readonly warnings: readonly string[];
}

/**
 * Describes the input side of a library's schema. A node that JSON Schema can't express is open,
 * with a warning; dates are strings of format `date-time` and big integers are integers, and both
 * reach the library as what it asks for. Sub-schemas that are used twice are written out twice.
 *
 * @throws ConfigurationError where the library can't describe its schemas at all
 */
export function describeInput(schema: StandardSchema): DescribedSchema {
  const { jsonSchema, vendor } = schema["~standard"];
  if (typeof jsonSchema?.input !== "function") {
    throw new ConfigurationError(
      `its parameters are a schema of ${vendor}, which does not describe itself as JSON Schema: ` +
        "use zod 4, wrap it with the library's own converter to Standard JSON Schema, or pass a JSON Schema object",
    );
  }
  const warnings: string[] = [];
  let described: unknown;
  try {
    described = jsonSchema.input({
      target: "draft-2020-12",
      libraryOptions: optionsOf(vendor, warnings),
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      schema: { type: "object", properties: {} },
      warnings: [
        `its parameters are advertised as an open object, since ${vendor} can't describe them: ${why}`,
      ],
    };
  }
  const copy = copyJson(described);
  if (!isObject(copy)) return { schema: {}, warnings };
  const inlined: MutableObject = {};
  for (const [key, value] of Object.entries(inlineRefs(copy))) {
    if (key !== "$schema" && key !== "id" && key !== "$id") setMember(inlined, key, value);
  }
  return { schema: inlined, warnings };
}

/** The same schema without the marks. */
export function withoutMarks<T extends JsonValue>(node: T): T {
  if (Array.isArray(node)) return node.map((item: JsonValue) => withoutMarks(item)) as unknown as T;
  if (!isObject(node)) return node;
  const plain: MutableObject = {};
  for (const [key, value] of Object.entries(node)) {
    if (key !== convertKey) setMember(plain, key, withoutMarks(value));
  }
  return plain as unknown as T;
}
