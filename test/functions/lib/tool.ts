import type { JsonObject } from "../../../src/domain/json.ts";
import type { Tool } from "../../../src/domain/tool.ts";
import type { Schema } from "../../field/world.ts";
import { contextOf } from "../../registry/world.ts";

/** The schema that a tool advertises for its arguments. */
export function inputOf({ descriptor }: Tool): Schema {
  return descriptor.inputSchema;
}

/** Checks arguments and runs the body; throws what the check says where they are refused. */
export async function run(tool: Tool, args: JsonObject): Promise<unknown> {
  const checked = await tool.check(args);
  if (!checked.ok) throw new Error(checked.message);
  return await tool.execute(checked.value, contextOf());
}
