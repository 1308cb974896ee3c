import type { SelectableTool, SelectionContext, StageRecord } from "../domain/selection.ts";
import { judgeAnswer } from "./adopter-stage.ts";
import type { Patience } from "./ask.ts";
import { ask } from "./ask.ts";
import type { SelectionRequest } from "./begin.ts";
import { begin, readContext } from "./begin.ts";
import type { SelectionConfig, StageInput, StageTool } from "./config.ts";
import { describeThrown, listNames } from "./describe-thrown.ts";
import { judgeForce } from "./force.ts";
import { routeIntent } from "./intent-routing.ts";
import { choose, filter, readNames } from "./names.ts";
import type { Plan, Question } from "./plan.ts";
import { builtInStages, readConfig } from "./plan.ts";
import type { Entry, Turn, Verdict } from "./turn.ts";
import { settle, silentRecord } from "./turn.ts";

/** Selects tools; holds no state between selections. */
export interface Selector {
  /**
   * Selects the tools to offer. Never rejects: a stage that fails is recorded as degraded and
   * changes nothing.
   */
  select<T extends SelectableTool>(request: SelectionRequest<T>): Promise<Selection<T>>;
}

/** The tools to offer, and why. Frozen. */
export interface Selection<T extends SelectableTool> {
  /** In the order to offer them. */
  readonly tools: readonly T[];
  /** False exactly where every stage abstained. */
  readonly decided: boolean;
  /** A selected tool's name or a reserved word, or `null`. */
  readonly forcedChoice: string | null;
  /** One record a stage, in the order they ran. */
  readonly trace: readonly StageRecord[];
}

/**
 * Makes a selector of these stages: intent routing if it is configured, forced choice, role
 * palette, then the adopter's own.
 *
 * A tool that stands forced survives every stage: one that drops it has it back, last. Lists of
 * names never drop a nameless tool, save for `candidates`. The same request gives the same
 * selection, as far as the adopter's code does.
 *
 * @throws ConfigurationError naming the part of the configuration that can't be used
 */
export function createSelector(config: SelectionConfig = {}): Selector {
  const plan = readConfig(config);
  const stages = listStages(plan);
  return Object.freeze({
    async select<T extends SelectableTool>(request: SelectionRequest<T>): Promise<Selection<T>> {
      try {
        return await run(plan, stages, request);
      } catch (error) {
        // Only a request that breaks its own types comes here.
        const detail = `the request cannot be read: ${describeThrown(error)}`;
        const trace = stages.map(({ name }) => silentRecord(name, "degraded", detail));
        return freeze({ tools: toolsOf(request), decided: true, forcedChoice: null, trace });
      }
    },
  });
}

function asksAnybody({ forcedChoice, palette, stages }: Plan): boolean {
  return forcedChoice !== null || palette?.kind === "resolver" || stages.length > 0;
}

interface PlannedStage {
  readonly name: string;
  judge<T>(turn: Turn<T>, desk: Desk): Verdict<T> | Promise<Verdict<T>>;
}

/** What every stage of one selection shares. */
interface Desk {
  readonly context: SelectionContext;
  /** Asks code of the adopter's. */
  consult(question: Question, turn: Turn<unknown>): Promise<unknown>;
}

async function run<T extends SelectableTool>(
  plan: Plan,
  stages: readonly PlannedStage[],
  request: SelectionRequest<T>,
): Promise<Selection<T>> {
  // All is copied before the first wait: the caller may change its objects meanwhile.
  const context = readContext(request.context);
  let turn = begin(request, context, asksAnybody(plan));
  const desk = openDesk(context, {
    timeoutMs: plan.stageTimeoutMs,
    signal: request.context.signal,
  });
  const trace: StageRecord[] = [];
  for (const stage of stages) {
    let verdict: Verdict<T>;
    try {
      verdict = await stage.judge(turn, desk);
    } catch (error) {
      verdict = { kind: "degraded", detail: describeThrown(error) };
    }
    const settled = settle(turn, stage.name, verdict);
    ({ turn } = settled);
    trace.push(settled.record);
  }
  return freeze({
    tools: turn.set.map((entry) => entry.tool),
    decided: trace.some((record) => record.action !== "abstained"),
    forcedChoice: turn.force,
    trace,
  });
}

function listStages(plan: Plan): readonly PlannedStage[] {
  const { intent } = plan;
  return [
    ...(intent === null
      ? []
      : [
          {
            name: builtInStages.intent,
            judge: <T>(turn: Turn<T>, { context }: Desk) =>
              routeIntent(intent, context.state.intent, turn),
          },
        ]),
    { name: builtInStages.force, judge: (turn, desk) => forceChoice(plan, turn, desk) },
    { name: builtInStages.palette, judge: (turn, desk) => applyPalette(plan, turn, desk) },
    ...plan.stages.map((stage): PlannedStage => ({
      name: stage.name,
      judge: async (turn, desk) =>
        judgeAnswer(await desk.consult(stage.ask, turn), turn, desk.context.messages),
    })),
  ];
}

async function forceChoice<T>(plan: Plan, turn: Turn<T>, desk: Desk): Promise<Verdict<T>> {
  const stamp = desk.context.state.forcedChoice;
  const wish =
    stamp === null && plan.forcedChoice !== null
      ? await desk.consult(plan.forcedChoice, turn)
      : stamp;
  if (wish === null || wish === undefined) return { kind: "abstained", detail: "" };
  const verdict = judgeForce(wish, turn, desk.context.messages);
  if (verdict.kind === "none") return { kind: "abstained", detail: "no force is wanted" };
  return verdict.kind === "refused"
    ? { kind: "degraded", detail: verdict.detail }
    : { kind: "decided", set: null, force: verdict.force, detail: verdict.detail };
}

async function applyPalette<T>(plan: Plan, turn: Turn<T>, desk: Desk): Promise<Verdict<T>> {
  const { palette } = plan;
  const { role } = desk.context;
  if (palette === null) return { kind: "abstained", detail: "" };
  const answer =
    palette.kind === "table" ? palette.byRole.get(role) : await desk.consult(palette.ask, turn);
  if (answer === null || answer === undefined) {
    return { kind: "abstained", detail: `the role ${listNames([role])} has no palette` };
  }
  const names = readNames(answer, "the palette");
  if (palette.kind === "table" && names.length === 0) {
    return { kind: "degraded", detail: `the palette of the role ${listNames([role])} is empty` };
  }
  // A table allows, and leaves the order alone; a resolver's answer is an order too.
  const choice = palette.kind === "table" ? filter(names, turn) : choose(names, turn, turn.set);
  return choice.ok
    ? { kind: "decided", set: choice.set, force: undefined, detail: choice.detail }
    : { kind: "degraded", detail: choice.detail };
}

function openDesk(context: SelectionContext, patience: Patience): Desk {
  return {
    context,
    consult: (question, turn) =>
      ask((signal) => {
        const input: StageInput = {
          ...context,
          tools: viewsOf(turn.set),
          candidates: viewsOf(turn.candidates),
          forcedChoice: turn.force,
          signal,
        };
        return question(Object.freeze(input));
      }, patience),
  };
}

function viewsOf(entries: readonly Entry<unknown>[]): readonly StageTool[] {
  return Object.freeze(entries.map((entry) => entry.view));
}

function toolsOf<T extends SelectableTool>(request: SelectionRequest<T>): readonly T[] {
  try {
    return Array.isArray(request.tools) ? [...request.tools] : [];
  } catch {
    return [];
  }
}

function freeze<T extends SelectableTool>(selection: Selection<T>): Selection<T> {
  Object.freeze(selection.tools);
  Object.freeze(selection.trace);
  return Object.freeze(selection);
}
