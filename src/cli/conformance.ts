import { writeFileSync } from "node:fs";

import { checkAddress } from "../config/serve-config.ts";
import { readTokenFile } from "../config/token.ts";
import { contractCases, type ProtocolName, type ServerName } from "../conformance/cases.ts";
import { serveFixture } from "../conformance/fixture/serve-fixture.ts";
import { junitReport } from "../conformance/junit.ts";
import type { Path } from "../conformance/paths/path.ts";
import { paths } from "../conformance/paths/paths.ts";
import { textReport } from "../conformance/report.ts";
import {
  type CaseResult,
  runSuite,
  SuiteLink,
  type SuiteTarget,
} from "../conformance/run-suite.ts";
import { ConfigurationError, ToolPortError } from "../errors.ts";
import type { Console } from "./console.ts";
import { exitCodes } from "./failure.ts";
import { tokenFor } from "./target.ts";

/** What `toolport conformance` is given. */
export interface ConformanceFlags {
  readonly address?: string;
  readonly tokenFile?: string;
  readonly narrow?: string;
  readonly guarded?: string;
  readonly guardedTokenFile?: string;
  readonly empty?: string;
  readonly protocol?: ProtocolName;
  /** Only cases whose id has this text. */
  readonly filter?: string;
  /** Where to write a JUnit XML report. */
  readonly junit?: string;
}

/**
 * Runs the contract's cases against a server and reports.
 *
 * @throws ConfigurationError for flags that contradict each other, leave no case, or name a file that
 *   can't be written
 */
export async function runConformance(flags: ConformanceFlags, io: Console): Promise<number> {
  const { filter = "", protocol, junit } = flags;
  const cases = contractCases.filter(({ id }) => id.includes(filter));
  if (cases.length === 0) {
    throw new ConfigurationError(`no case's id has the text ${JSON.stringify(filter)}`);
  }
  const { target, close } = await targetOf(flags);
  const results: CaseResult[] = [];
  const taken = paths.filter((path) => protocol === undefined || path.protocol === protocol);
  try {
    await requireServers(target, taken[0]);
    io.note(`${cases.length} cases over ${taken.map(({ name }) => name).join(", ")}`);
    await runSuite(target, { paths: taken, cases }, (result) => results.push(result));
  } finally {
    await close();
  }
  if (junit !== undefined) write(junit, junitReport(results));
  if (io.form === "json") io.printJson(jsonReport(results));
  else io.print(textReport(results));
  // Where every case was skipped nothing was shown.
  const isShown = results.some(({ verdict }) => verdict === "passed");
  const hasFailed = results.some(({ verdict }) => verdict === "failed");
  return isShown && !hasFailed ? exitCodes.ok : exitCodes.failed;
}

async function targetOf(
  flags: ConformanceFlags,
): Promise<{ readonly target: SuiteTarget; close(): Promise<void> }> {
  const { address, narrow, guarded, guardedTokenFile, empty } = flags;
  const given = { main: address, narrow, guarded, empty };
  const addresses = Object.fromEntries(
    Object.entries(given).filter(([, where]) => where !== undefined),
  ) as SuiteTarget["addresses"];
  if (Object.keys(addresses).length === 0) {
    const served = await serveFixture();
    return { target: served, close: () => served.close() };
  }
  for (const where of Object.values(addresses)) checkAddress(where);
  if ((guarded === undefined) !== (guardedTokenFile === undefined)) {
    throw new ConfigurationError(
      "--guarded and --guarded-token-file go together: one names the server, the other the token that it asks for",
    );
  }
  const token = guardedTokenFile === undefined ? "" : readTokenFile(guardedTokenFile);
  return { target: { addresses, token, ownToken: tokenFor(flags) }, async close() {} };
}

/** One sentence for a server that is not there, instead of as many failures as there are cases. */
async function requireServers(target: SuiteTarget, path: Path | undefined): Promise<void> {
  if (!path) return;
  const link = new SuiteLink(path, target);
  try {
    for (const server of Object.keys(target.addresses) as ServerName[]) await link.world(server);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ToolPortError("UNREACHABLE", why, { cause });
  } finally {
    link.close();
  }
}

function jsonReport(results: readonly CaseResult[]): unknown {
  return results.map(({ path, example, verdict, details, durationMs }) => ({
    id: example.id,
    title: example.title,
    path: path.name,
    verdict,
    details,
    durationMs: Math.round(durationMs),
  }));
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(`cannot write ${file}: ${why}`, { cause });
  }
}
