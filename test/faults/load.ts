import type { ToolPortClient } from "../../src/client/index.ts";
import type { ErrorCode } from "../../src/errors.ts";
import type { Asked, Ledger } from "./ledger.ts";
import type { Random } from "./random.ts";

/** How one call is asked. */
interface Manner {
  readonly cancelAfterMs?: number;
  readonly deadlineMs?: number;
}

/** What the end of a sidecar may do to a call. */
const endings: readonly ErrorCode[] = ["UNREACHABLE", "DRAINING"];

/** Asks once, and writes down how it ended. */
export async function ask(
  client: ToolPortClient,
  ledger: Ledger,
  asked: Asked,
  manner: Manner = {},
  allowed: readonly ErrorCode[] = endings,
): Promise<void> {
  const { runId, callId, name } = asked;
  const { cancelAfterMs, deadlineMs } = manner;
  asked.inFlight += 1;
  let timer: NodeJS.Timeout | undefined;
  try {
    const call = { runId, callId, name, arguments: asked.arguments };
    const execution = client.execute(call, { deadlineMs });
    if (cancelAfterMs !== undefined) timer = setTimeout(() => execution.cancel(), cancelAfterMs);
    const isAgain = asked.told !== undefined;
    ledger.outcome(asked, await execution.result, isAgain);
  } catch (error) {
    const faults: readonly ErrorCode[] = [
      ...allowed,
      ...(cancelAfterMs === undefined ? [] : (["CANCELLED"] as const)),
      ...(deadlineMs === undefined ? [] : (["DEADLINE_EXCEEDED"] as const)),
    ];
    ledger.fault(asked, error, faults);
  } finally {
    clearTimeout(timer);
    asked.inFlight -= 1;
  }
}

/** Asks all of them, some at a time. */
export async function askAll(
  client: ToolPortClient,
  ledger: Ledger,
  all: readonly Asked[],
  width = 32,
): Promise<void> {
  const rest = all.values();
  const worker = async (): Promise<void> => {
    for (const asked of rest) await ask(client, ledger, asked);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** Keeps calls of every kind going until it is stopped or its sidecar is gone. */
export async function keepBusy(
  client: ToolPortClient,
  ledger: Ledger,
  random: Random,
  stop: AbortSignal,
  width = 32,
): Promise<void> {
  // What the sidecar before this one left open comes first.
  const left = ledger.open.values();
  const worker = async (): Promise<void> => {
    while (!stop.aborted) {
      const faults = ledger.counts["UNREACHABLE"];
      await step(client, ledger, random, left);
      // It is gone; whoever kills it says when to stop.
      if (ledger.counts["UNREACHABLE"] !== faults) await new Promise((go) => setTimeout(go, 5));
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}

async function step(
  client: ToolPortClient,
  ledger: Ledger,
  random: Random,
  left: Iterator<Asked>,
): Promise<void> {
  const open = random.chance(0.7) ? left.next() : undefined;
  if (open && open.done !== true) return ask(client, ledger, open.value, mannerOf(random));
  if (ledger.asked.length > 0 && random.chance(0.15)) {
    const again = random.pick(ledger.asked);
    if (again.told && again.inFlight === 0) return ask(client, ledger, again);
  }
  const name = random.pick(names);
  const ms = random.between(0, 20);
  const asked = ledger.make(name, random.chance(0.1) ? { ms, bytes: 20_000 } : { ms });
  const first = ask(client, ledger, asked, mannerOf(random));
  // The same call from two at once is one call.
  const second = random.chance(0.1) ? ask(client, ledger, asked) : undefined;
  await Promise.all([first, second]);
  if (asked.told === undefined && random.chance(0.5)) await ask(client, ledger, asked);
}

const common = ["pay", "pay", "transfer", "transfer", "commit", "refuse", "put", "put"];
// A thread takes as long to start as many a life here lasts.
const names = [...common, ...common, "apart"];

function mannerOf(random: Random): Manner {
  if (random.chance(0.15)) return { cancelAfterMs: random.between(0, 15) };
  return random.chance(0.15) ? { deadlineMs: random.between(1, 15) } : {};
}
