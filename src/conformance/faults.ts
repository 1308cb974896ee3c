import { status } from "@grpc/grpc-js";
import type { Data, DataObject, FaultExpectation } from "./cases.ts";
import { catalogue } from "../errors.ts";

/**
 * Compares a google.rpc.Status, as JSON, with the fault that is expected, and holds it to what every
 * fault of the contract has.
 *
 * @param path where it stands, for the sentences; empty for an RPC's own status
 * @returns a sentence for each difference; none where it is that fault
 */
export function compareFault(
  actual: Data | undefined,
  expected: FaultExpectation,
  path: string,
  compareMessage: (message: Data, expected: Data) => readonly string[],
): readonly string[] {
  const given = (actual ?? {}) as DataObject;
  const where = path === "" ? "the fault" : path.replace(/^\./u, "");
  const name = status[Number(given["code"])] ?? (textOf(given["code"]) || "OK");
  const message = textOf(given["message"]);
  if (name !== expected.code) {
    return [`${where} is ${name} (${message}), expected ${expected.code}`];
  }
  if (expected.local === true) return [];
  const details = (given["details"] ?? []) as readonly DataObject[];
  const infos = ofType(details, "google.rpc.ErrorInfo");
  const retries = ofType(details, "google.rpc.RetryInfo");
  const info = infos[0];
  if (!info || infos.length > 1) {
    return [`${where} has ${infos.length} details of google.rpc.ErrorInfo, expected one`];
  }
  const differences: string[] = [];
  const say = (difference: string): void => void differences.push(`${where}'s ${difference}`);
  const reason = textOf(info["reason"]);
  const started = textOf((info["metadata"] as DataObject | undefined)?.["started"]);
  const domain = textOf(info["domain"]);
  if (domain !== "toolport") say(`domain is ${domain}, expected toolport`);
  if (reasons.get(reason) !== name) {
    say(`reason is ${reason}, which is none of the contract's for ${name}`);
  }
  if (!["no", "yes", "unknown"].includes(started)) {
    say(`started is ${started}, expected no, yes or unknown`);
  }
  if (message === "") say("message is empty, expected a sentence");
  if (/\n\s+at /u.test(message)) say("message has a stack");
  if (expected.reason !== undefined && reason !== expected.reason) {
    say(`reason is ${reason} (${message}), expected ${expected.reason}`);
  }
  if (expected.started !== undefined && started !== expected.started) {
    say(`started is ${started}, expected ${expected.started}`);
  }
  if (expected.message !== undefined) {
    differences.push(...compareMessage(message, expected.message));
  }
  if (expected.retryInfo === true) {
    const delay = Number.parseFloat(textOf(retries[0]?.["retryDelay"]));
    if (!(delay > 0)) say("details have no google.rpc.RetryInfo with a delay above 0");
  }
  return differences;
}

/** Each reason that a fault can have, with its status. */
const reasons: ReadonlyMap<string, string> = new Map(
  Object.entries(catalogue).flatMap(([reason, entry]) =>
    entry.status === null ? [] : [[reason, entry.status] as const],
  ),
);

function ofType(details: readonly DataObject[], type: string): readonly DataObject[] {
  return details.filter((detail) => textOf(detail["@type"]).endsWith(`/${type}`));
}

/** A member as text; empty where it is absent. */
function textOf(data: Data | undefined): string {
  return typeof data === "string" ? data : data === undefined ? "" : JSON.stringify(data);
}
