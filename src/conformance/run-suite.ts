import { create } from "@bufbuild/protobuf";
import { type ManifestResponse, ToolPortService } from "../wire/v1.ts";
import { type ContractCase, contractCases, type ServerName } from "./cases.ts";
import type { Connection, Path } from "./paths/path.ts";
import { type CaseWorld, runCase } from "./run-case.ts";

/** The servers that the suite is run against. */
export interface SuiteTarget {
  /** `unix:/path` or `host:port`, by the server that cases name; one that is missing is skipped. */
  readonly addresses: Readonly<Partial<Record<ServerName, string>>>;
  /** The token that `guarded` asks for. */
  readonly token: string;
  /** The token that the others ask for, if they do. */
  readonly ownToken?: string | undefined;
}

/** What became of one case over one path. */
export interface CaseResult {
  readonly path: Path;
  readonly example: ContractCase;
  readonly verdict: "passed" | "failed" | "known" | "skipped";
  /** Why it failed or was skipped, one sentence each. */
  readonly details: readonly string[];
  readonly durationMs: number;
}

/** Why a case is not run over a path; undefined where it is. */
export function reasonToSkip({ only }: ContractCase, { protocol }: Path): string | undefined {
  return !only || only.protocols.includes(protocol) ? undefined : only.why;
}

/** One path to every server of a target; connects when it is first asked to. */
export class SuiteLink {
  readonly #path: Path;
  readonly #target: SuiteTarget;
  readonly #worlds = new Map<ServerName, Promise<CaseWorld>>();
  readonly #connections: Connection[] = [];

  constructor(path: Path, target: SuiteTarget) {
    this.#path = path;
    this.#target = target;
  }

  /**
   * What the cases of a server are run against.
   *
   * @throws Error where it gives no manifest
   */
  world(server: ServerName = "main"): Promise<CaseWorld> {
    const known = this.#worlds.get(server);
    if (known) return known;
    const made = this.#connect(server);
    this.#worlds.set(server, made);
    return made;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  async #connect(server: ServerName): Promise<CaseWorld> {
    const { addresses, token, ownToken } = this.#target;
    const address = addresses[server] ?? "";
    const connection = this.#path.connect({ address });
    this.#connections.push(connection);
    const bearer = server === "guarded" ? token : ownToken;
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    const { manifest } = ToolPortService.method;
    const rpc = connection.open(manifest, { headers, timeoutMs: 10_000 });
    rpc.send(create(manifest.input));
    const answer = (await rpc.next()) as ManifestResponse | undefined;
    const status = await rpc.ended;
    if (!answer) {
      const why = status ? status.message : "it ended without a message";
      throw new Error(
        `the server ${JSON.stringify(server)} at ${address} gives no manifest over ${this.#path.name}: ${why}`,
      );
    }
    return {
      connection,
      headers: server === "guarded" ? {} : headers,
      digest: answer.digest,
      token,
    };
  }
}

/**
 * Runs cases over paths, some at a time, and tells of each as it ends.
 *
 * @param told is given each result
 */
export async function runSuite(
  target: SuiteTarget,
  {
    paths,
    cases = contractCases,
  }: { readonly paths: readonly Path[]; readonly cases?: readonly ContractCase[] },
  told: (result: CaseResult) => void,
): Promise<void> {
  for (const path of paths) {
    const link = new SuiteLink(path, target);
    const waiting = [...cases];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        told(await resultOf(next, path, target, link));
      }
    };
    try {
      await Promise.all(Array.from({ length: atOnce }, work));
    } finally {
      link.close();
    }
  }
}

/** How many cases run at once. */
const atOnce = 16;

async function resultOf(
  example: ContractCase,
  path: Path,
  target: SuiteTarget,
  link: SuiteLink,
): Promise<CaseResult> {
  const begun = performance.now();
  const result = (verdict: CaseResult["verdict"], details: readonly string[]): CaseResult => ({
    path,
    example,
    verdict,
    details,
    durationMs: performance.now() - begun,
  });
  const { server = "main" } = example;
  const why =
    target.addresses[server] === undefined
      ? `no server ${JSON.stringify(server)} was given`
      : reasonToSkip(example, path);
  if (why !== undefined) return result("skipped", [why]);
  let details: readonly string[];
  try {
    details = await runCase(example, await link.world(server));
  } catch (error) {
    return result("failed", [error instanceof Error ? error.message : String(error)]);
  }
  if (example.knownFailure !== undefined) {
    return details.length > 0
      ? result("known", [example.knownFailure])
      : result("failed", [`it passes, though it is known to fail: ${example.knownFailure}`]);
  }
  return result(details.length === 0 ? "passed" : "failed", details);
}
