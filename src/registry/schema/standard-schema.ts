/**
 * A schema of any library that keeps the Standard Schema convention: zod, valibot, arktype and
 * others. Only the parts that are used are named here.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    /** Checks a value; the value of a success is what the library made of it. */
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Present where the library can also describe its schema as JSON Schema. */
    readonly jsonSchema?: StandardJsonSchemaConverter | undefined;
  };
}

/** Describes a schema as JSON Schema. */
export interface StandardJsonSchemaConverter {
  readonly input: (options: {
    readonly target: string;
    readonly libraryOptions?: Record<string, unknown> | undefined;
  }) => Record<string, unknown>;
  readonly output: StandardJsonSchemaConverter["input"];
}

/** What a library's check came to. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One thing that a library found wrong. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Recognises a schema of such a library. Some of them are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard = (value as Partial<StandardSchema>)["~standard"];
  return typeof standard === "object" && typeof standard?.validate === "function";
}
