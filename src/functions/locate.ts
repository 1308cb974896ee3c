import { Session } from "node:inspector";

import type { PlainFunction } from "../registry/plain-function.ts";

/** Where a function is written. */
export interface FunctionPlace {
  /** The URL of its module. */
  readonly url: string;
  /** Counted from 1. */
  readonly line: number;
}

interface ScriptParsed {
  readonly params: { readonly scriptId: string; readonly url: string };
}

interface Property {
  readonly name: string;
  readonly value?: { readonly value?: unknown; readonly objectId?: string };
}

const maxBinds = 8;

const holder: unique symbol = Symbol.for("toolport.located");

/**
 * Asks the engine where functions are written. It alone knows: a function bears no trace of its
 * module. One that is not written in a module, such as a native one, is left out; what `bind` made is
 * where the function is that it was made of.
 */
export function locate(
  functions: readonly PlainFunction[],
): ReadonlyMap<PlainFunction, FunctionPlace> {
  const places = new Map<PlainFunction, FunctionPlace>();
  const urls = new Map<unknown, string>();
  const session = new Session();
  session.connect();
  session.on("Debugger.scriptParsed", ({ params }: ScriptParsed) => {
    urls.set(params.scriptId, params.url);
  });
  const shared = globalThis as { [holder]?: readonly PlainFunction[] };
  shared[holder] = functions;
  try {
    // In the same thread every answer comes before the call returns.
    session.post("Debugger.enable");
    functions.forEach((fn, index) => {
      const location = locationOf(session, index);
      const url = urls.get(location?.["scriptId"]);
      const line = location?.["lineNumber"];
      if (url?.startsWith("file:") && typeof line === "number") {
        places.set(fn, { url, line: line + 1 });
      }
    });
    session.post("Debugger.disable");
  } finally {
    Reflect.deleteProperty(shared, holder);
    session.disconnect();
  }
  return places;
}

function locationOf(session: Session, index: number): Record<string, unknown> | undefined {
  let objectId: string | undefined;
  session.post(
    "Runtime.evaluate",
    { expression: `globalThis[Symbol.for("toolport.located")][${index}]` },
    (_error, answer) => {
      objectId = answer?.result.objectId;
    },
  );
  // Each `bind` is one step away from what was bound.
  for (let step = 0; objectId !== undefined && step < maxBinds; step += 1) {
    const inner = innerOf(session, objectId);
    const location = inner.get("[[FunctionLocation]]")?.value;
    if (location !== undefined) return location as Record<string, unknown>;
    objectId = inner.get("[[TargetFunction]]")?.objectId;
  }
  return undefined;
}

function innerOf(session: Session, objectId: string): ReadonlyMap<string, Property["value"]> {
  let found: readonly Property[] = [];
  session.post("Runtime.getProperties", { objectId, ownProperties: true }, (_error, answer) => {
    found = (answer?.internalProperties ?? []) as readonly Property[];
  });
  return new Map(found.map(({ name, value }) => [name, value]));
}
