import { describeTool } from "../../src/registry/describe-tool.ts";
import { register } from "../../src/registry/register.ts";
import { readCases } from "./lib/cases.ts";
import { testCases } from "./lib/known-failures.ts";
import { registrationFromCase, type RegistrationSpec } from "./lib/registration-from-case.ts";
import { toolFromCase, type ToolSpec } from "./lib/tool-from-case.ts";

interface Input {
  readonly tool?: ToolSpec;
  readonly registration: RegistrationSpec | null;
  /** Register the tool, instead of handing the registration over. */
  readonly via_registry?: boolean;
}

type Expect = Readonly<Record<string, unknown>>;

const cases = readCases<Input, Expect>("descriptors");

testCases(
  // The others are of the manifest's text.
  cases.filter(({ input }) => input.tool !== undefined),
  (t, { input, expect }) => {
    const tool = toolFromCase(input.tool ?? {});
    const said = input.registration && registrationFromCase(input.registration);
    const reading = (): ReturnType<typeof describeTool> =>
      said && input.via_registry ? describeTool(register(tool, said)) : describeTool(tool, said);
    const read = reading();
    t.deepEqual(read, reading());
    t.deepEqual(
      {
        name: read.name,
        tool_name: read.toolName,
        description: read.description,
        hidden: read.hidden,
        summary: read.summary,
        manifest_entry: read.manifestEntry,
        category: read.category,
        safety_level: read.safetyLevel,
        cost_usd: read.costUsd,
        max_calls_per_invocation: read.maxCallsPerInvocation,
        scope: read.scope,
        routing_mode: read.routingMode,
        equal_readings: true,
      },
      expect,
    );
  },
);
