import test, { type ExecutionContext } from "ava";
import { connect, type ToolPortClient, type ToolPortError } from "../../src/client/index.ts";
import { ErrorKind, Role, StageAction, type ToolCall } from "../../src/wire/v1.ts";
import { type Case, matchesText, readCases } from "./lib/cases.ts";
import { testCases } from "./lib/known-failures.ts";
import { serveCases, type ServedCases } from "./lib/serve-cases.ts";

interface CallSpec {
  readonly call_id: string;
  readonly name: string;
  readonly arguments: unknown;
}

interface ExpectedCall {
  readonly call?: Readonly<Record<string, unknown>>;
  readonly raises?: { readonly type: string };
}

let served: ServedCases;

test.before(async () => {
  served = await serveCases();
});

test.after.always(async () => {
  await served.close();
});

/** Connects to the case's own set for as long as `use` takes. */
async function withClient(
  { id }: Case,
  use: (client: ToolPortClient) => Promise<void>,
): Promise<void> {
  const client = connect({ address: served.addresses[id] ?? "" });
  try {
    await use(client);
  } finally {
    client.close();
  }
}

interface ExecuteInput {
  readonly call: CallSpec;
  /** The run that the call is made on; it has ended where `live` is false. */
  readonly context?: { readonly run_id: string; readonly live?: boolean };
}

testCases(readCases<ExecuteInput, ExpectedCall>("execute"), async (t, example) => {
  const { input, expect } = example;
  await withClient(example, async (client) => {
    const run = input.context && client.run(input.context.run_id);
    if (input.context?.live === false) await run?.close();
    const execution = (run ?? client).execute(callOf(input.call));
    if (!expect.raises) return compareCall(t, await execution.result, example);
    const isCancelled = expect.raises.type === "CancelledError";
    // That tool waits for its signal, so it need not have started.
    if (isCancelled) setTimeout(() => execution.cancel(), 50);
    const fault = await t.throwsAsync<ToolPortError>(execution.result);
    t.is(fault?.code, isCancelled ? "CANCELLED" : run ? "RUN_ENDED" : "RUN_REQUIRED");
    for (const part of example.contains ?? []) t.true(fault?.message.includes(part), part);
  });
});

interface RefuseInput {
  readonly request: CallSpec;
  readonly reason: string | null;
}

testCases(readCases<RefuseInput, ExpectedCall>("refuse"), async (t, example) => {
  const { request, reason } = example.input;
  await withClient(example, async (client) => {
    const call = await client.refuse(callOf(request), reason ?? "");
    t.is(call.errorKind, ErrorKind.REFUSED);
    compareCall(t, call, example);
  });
});

interface SelectionInput {
  readonly tools: readonly (string | { readonly unnamed?: string })[];
  readonly role?: string;
  readonly forced_tool_choice?: unknown;
  readonly messages?: readonly MessageSpec[] | null;
  readonly intent?: {
    readonly verdict: { readonly label: string; readonly matched?: readonly string[] } | null;
  };
}

interface MessageSpec {
  readonly role: string;
  readonly content?: string;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly name: string }[];
}

const roles: Readonly<Record<string, Role>> = {
  system: Role.SYSTEM,
  human: Role.USER,
  ai: Role.ASSISTANT,
  tool: Role.TOOL,
  dict_tool: Role.TOOL,
};

const actionNames = new Map<number, string>(
  Object.entries(StageAction).map(([name, action]) => [action, name.toLowerCase()] as const),
);

const selectionCases = readCases<SelectionInput, Readonly<Record<string, unknown>>>("selection");

testCases(
  // No wire can carry a nameless tool; those cases run in process.
  selectionCases.filter(({ input }) =>
    input.tools.every((tool) => typeof tool === "string" || tool.unnamed === undefined),
  ),
  async (t, example) => {
    const { role, forced_tool_choice: forced, messages, intent } = example.input;
    await withClient(example, async (client) => {
      const { result } = await client.select({
        role: role ?? "action",
        state: {
          ...(typeof forced === "string" && { forcedChoice: forced }),
          ...(intent?.verdict && {
            intent: {
              label: intent.verdict.label,
              matchedTools: [...(intent.verdict.matched ?? [])],
            },
          }),
        },
        messages: (messages ?? []).map((message) => ({
          role: roles[message.role] ?? t.fail(`the role ${message.role} is new`),
          name: message.name ?? "",
          toolCallId: message.tool_call_id ?? "",
          toolCalls: (message.tool_calls ?? []).map(({ id, name }) => ({ id, name })),
          text: message.content ?? "",
        })),
      });
      const trace = result?.trace.map((record) => ({
        stage: record.stage,
        action: actionNames.get(record.action),
        kept: record.kept,
        dropped: record.dropped,
        added: record.added,
        reinstated: record.reinstated,
        forced_choice: record.forcedChoice ?? null,
      }));
      t.deepEqual(
        { tools: result?.tools, forced_choice: result?.forcedChoice ?? null, trace },
        example.expect as object,
      );
    });
  },
);

interface DescriptorInput {
  readonly manifest?: { readonly token_budget: number };
}

const descriptorCases = readCases<DescriptorInput, Readonly<Record<string, unknown>>>(
  "descriptors",
);

testCases(
  descriptorCases.filter(({ expect }) => expect["tool_name"] !== null),
  async (t, example) => {
    const { manifest: asked } = example.input;
    await withClient(example, async (client) => {
      const budget = asked && { budgetTokens: asked.token_budget };
      const request = { includeHidden: true, ...budget };
      const manifest = await client.manifest(request);
      if (asked) {
        t.deepEqual<unknown, string>(example.expect["text"], manifest.text);
        return;
      }
      const [tool] = manifest.tools;
      t.deepEqual(await client.manifest(request), manifest);
      t.deepEqual(
        {
          name: tool?.name,
          tool_name: tool?.name,
          description: tool?.description,
          hidden: tool?.hidden,
          summary: tool?.summary,
          manifest_entry: tool?.manifestEntry,
          category: tool?.category ?? null,
          safety_level: tool?.safetyLevel ?? null,
          cost_usd: tool?.costUsd ?? null,
          max_calls_per_invocation: tool?.maxCallsPerInvocation ?? null,
          scope: tool?.scope ?? null,
          routing_mode: tool?.routingMode ?? null,
          equal_readings: true,
        },
        example.expect as object,
      );
    });
  },
);

function callOf(spec: CallSpec): { callId: string; name: string; arguments: unknown } {
  return { callId: spec.call_id, name: spec.name, arguments: spec.arguments };
}

function compareCall(
  t: ExecutionContext,
  call: ToolCall,
  { expect, contains = [] }: Case<unknown, ExpectedCall>,
): void {
  const { id, name, result, error } = call;
  for (const [key, expected] of Object.entries(expect.call ?? {})) {
    if (key === "duration_ms")
      t.true(expected === ">=0" ? call.durationMs >= 0 : call.durationMs === 0);
    else if (key === "result_json") t.deepEqual(JSON.parse(result ?? ""), expected);
    else if (key === "arguments") t.deepEqual(JSON.parse(call.argumentsJson), expected);
    else {
      const actual = { id, name, result, error, result_text: result }[key] ?? null;
      if (typeof actual !== "string" || typeof expected !== "string")
        t.deepEqual(actual as unknown, expected);
      else t.true(matchesText(actual, expected), `${key} is ${actual}, not ${expected}`);
    }
  }
  t.not(result === undefined, error === undefined);
  t.is(error !== undefined, call.errorKind !== ErrorKind.UNSPECIFIED);
  if (error !== undefined) for (const part of contains) t.true(error.includes(part), error);
}
