/** A value that JSON can carry. Integers beyond 2^53 are `bigint`, so that no digit is lost. */
export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A JSON object. One made by this package has no prototype, so any key is only a key. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** A JSON Schema document whose root describes an object. */
export type JsonSchema = JsonObject;
