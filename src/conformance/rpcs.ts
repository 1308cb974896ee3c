import {
  createRegistry,
  type DescMethod,
  type Message,
  type Registry,
  toJson,
} from "@bufbuild/protobuf";
import { Health } from "../wire/beside.ts";
import { ErrorInfoSchema, RetryInfoSchema, ToolPortService } from "../wire/v1.ts";
import type { Data, RpcName } from "./cases.ts";

const { manifest, select, execute, refuse, run } = ToolPortService.method;

/** The RPCs that cases call, by the names that they have there. */
export const rpcs: Readonly<Record<RpcName, DescMethod>> = Object.freeze({
  Manifest: manifest,
  Select: select,
  Execute: execute,
  Refuse: refuse,
  Run: run,
  Health: Health.method.check,
  // As a client of a later version would call it.
  Unknown: { ...manifest, name: "Unknown" },
});

/** What a google.protobuf.Any of the contract may hold. */
const registry: Registry = createRegistry(ErrorInfoSchema, RetryInfoSchema);

/** A message in the canonical JSON mapping. */
export function jsonOf(schema: DescMethod["output"], message: Message): Data {
  return toJson(schema, message, { registry }) as Data;
}
