import type { HistoryMessage } from "../domain/selection.ts";
import { judgeForce } from "./force.ts";
import { choose, readNames } from "./names.ts";
import type { Turn, Verdict } from "./turn.ts";
import { joinDetails } from "./turn.ts";

/**
 * Turns what a stage of the adopter's answered into a verdict. An answer that is wrong in a part
 * changes nothing at all.
 *
 * @throws TypeError where the answer has the wrong shape, and whatever its getters throw
 */
export function judgeAnswer<T>(
  answer: unknown,
  turn: Turn<T>,
  messages: readonly HistoryMessage[],
): Verdict<T> {
  if (answer === null || answer === undefined) return { kind: "abstained", detail: "" };
  const { tools, forcedChoice, detail } = readAnswer(answer);
  let reasons = detail;
  let set: Turn<T>["set"] | null = null;
  if (tools !== null) {
    const choice = choose(readNames(tools, "the answer"), turn, turn.candidates);
    if (!choice.ok) return { kind: "degraded", detail: joinDetails(reasons, choice.detail) };
    ({ set } = choice);
    reasons = joinDetails(reasons, choice.detail);
  }
  if (forcedChoice === undefined) {
    return set === null
      ? { kind: "abstained", detail: reasons }
      : { kind: "decided", set, force: undefined, detail: reasons };
  }
  if (forcedChoice === null) return { kind: "decided", set, force: null, detail: reasons };
  const verdict = judgeForce(forcedChoice, { ...turn, set: set ?? turn.set }, messages);
  if (verdict.kind === "refused") {
    return { kind: "degraded", detail: joinDetails(reasons, verdict.detail) };
  }
  return verdict.kind === "none"
    ? { kind: "decided", set, force: null, detail: reasons }
    : { kind: "decided", set, force: verdict.force, detail: joinDetails(reasons, verdict.detail) };
}

interface ReadAnswer {
  /** `null`: no statement. */
  readonly tools: unknown;
  /** `undefined`: no statement; `null`: no force. */
  readonly forcedChoice: unknown;
  readonly detail: string;
}

function readAnswer(answer: unknown): ReadAnswer {
  if (Array.isArray(answer)) return { tools: answer, forcedChoice: undefined, detail: "" };
  if (typeof answer !== "object" || answer === null) {
    throw new TypeError("the answer is neither a list of names nor an object");
  }
  const stranger = Object.keys(answer).find(
    (key) => key !== "tools" && key !== "forcedChoice" && key !== "detail",
  );
  if (stranger !== undefined) {
    throw new TypeError(`the answer has an unknown part ${JSON.stringify(stranger)}`);
  }
  const { tools, forcedChoice, detail } = answer as Readonly<Record<string, unknown>>;
  if (detail !== undefined && detail !== null && typeof detail !== "string") {
    throw new TypeError("the answer's detail is no string");
  }
  return { tools: tools ?? null, forcedChoice, detail: detail ?? "" };
}
