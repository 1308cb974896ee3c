import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import type { ArgumentCheck } from "../../domain/tool.ts";
import type { Compiled } from "./compile.ts";
import {
  applyConversions,
  type CheckContext,
  refusedIntegers,
  type WideInteger,
} from "./conversions.ts";
import { explainErrors, explainIssues, formatPath, joinFindings } from "./explain.ts";
import { dropNulls } from "./null-as-absent.ts";
import type { StandardResult } from "./standard-schema.ts";

/** A library's own validation. */
export type LibraryCheck = (
  value: unknown,
) => StandardResult<unknown> | Promise<StandardResult<unknown>>;

/**
 * Makes the check of a tool's arguments: null as absent, then the advertised schema without
 * coercion, then the library's validation, whose output is the tool's.
 *
 * The value is always a copy. Without a library its objects have no prototype.
 */
export function checkWith(
  validate: Compiled,
  schema: JsonSchema,
  library?: LibraryCheck,
): (args: JsonObject) => ArgumentCheck | Promise<ArgumentCheck> {
  return (args) => {
    try {
      const { value, hasNull, wide } = ownCopy(args);
      if (hasNull) dropNulls(value, schema);
      const context: CheckContext = { wide, conversions: [] };
      const fits = validate.call(context, value);
      const findings = [
        ...refusedIntegers(context).map(tooWide),
        ...(fits ? [] : explainErrors(validate.errors ?? [])),
      ];
      if (findings.length > 0) return { ok: false, message: joinFindings(findings) };
      const unconverted = library && context.conversions.length > 0 && structuredClone(value);
      applyConversions(context);
      if (!library) return { ok: true, value };
      const first = ask(library, value);
      return unconverted ? orElse(first, () => ask(library, unconverted)) : first;
    } catch (error) {
      return failed(error);
    }
  };
}

type Answer = ArgumentCheck | Promise<ArgumentCheck>;

function ask(library: LibraryCheck, value: unknown): Answer {
  const result = library(value);
  return result instanceof Promise ? result.then(fromLibrary, failed) : fromLibrary(result);
}

/**
 * In a union one branch may ask for a date where another takes the text, so what the library
 * refuses converted it is asked again as it came. The first refusal is the one to tell.
 */
function orElse(first: Answer, second: () => Answer): Answer {
  if (first instanceof Promise) return first.then((answer) => orElse(answer, second));
  if (first.ok) return first;
  const other = second();
  if (other instanceof Promise) return other.then((answer) => (answer.ok ? answer : first));
  return other.ok ? other : first;
}

function fromLibrary(result: StandardResult<unknown>): ArgumentCheck {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, message: joinFindings(explainIssues(result.issues)) };
}

/** A refinement or transform of the author's threw: the arguments were not accepted. */
function failed(error: unknown): ArgumentCheck {
  let why = "it threw";
  try {
    why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    // An error whose own text throws has none.
  }
  return { ok: false, message: `the schema could not check the arguments: ${why}` };
}

function tooWide({ path, value }: WideInteger): string {
  return `${path} is ${value}, outside the safe integer range (-2^53 to 2^53): its schema takes no wider integer`;
}

interface OwnCopy {
  readonly value: JsonObject;
  readonly hasNull: boolean;
  readonly wide: readonly WideInteger[];
}

/** Copies arguments; wide integers are rounded in the copy and listed beside it. */
function ownCopy(args: JsonObject): OwnCopy {
  const wide: WideInteger[] = [];
  let hasNull = false;

  function copyInto(parent: object, key: string | number, value: JsonValue, path: Path): void {
    const holder = parent as Record<string | number, unknown>;
    if (value === null) hasNull = true;
    if (typeof value === "bigint") {
      wide.push({ parent, key, value, path: formatPath([...keysOf(path), key]) });
      holder[key] = Number(value);
    } else {
      holder[key] =
        typeof value === "object" && value !== null ? copy(value, { above: path, key }) : value;
    }
  }

  function copy(value: JsonObject | readonly JsonValue[], path: Path): JsonObject {
    if (Array.isArray(value)) {
      const items: JsonValue[] = [];
      value.forEach((item: JsonValue, index) => copyInto(items, index, item, path));
      return items as unknown as JsonObject;
    }
    const members = Object.create(null) as JsonObject;
    for (const key of Object.keys(value)) {
      copyInto(members, key, (value as JsonObject)[key] as JsonValue, path);
    }
    return members;
  }

  return { value: copy(args, undefined), hasNull, wide };
}

/** Where a value stands, innermost first, so that copying builds no lists. */
type Path = { readonly above: Path; readonly key: string | number } | undefined;

function keysOf(path: Path): readonly (string | number)[] {
  return path === undefined ? [] : [...keysOf(path.above), path.key];
}
