import access from "./cases/access.json" with { type: "json" };
import budget from "./cases/budget.json" with { type: "json" };
import execute from "./cases/execute.json" with { type: "json" };
import health from "./cases/health.json" with { type: "json" };
import limits from "./cases/limits.json" with { type: "json" };
import manifest from "./cases/manifest.json" with { type: "json" };
import refuse from "./cases/refuse.json" with { type: "json" };
import retry from "./cases/retry.json" with { type: "json" };
import run from "./cases/run.json" with { type: "json" };
import select from "./cases/select.json" with { type: "json" };

/** How a server is set up for a case; README.md says it in full. */
export type ServerName = "main" | "narrow" | "guarded" | "empty";

/** The protocols that a case can be limited to. */
export type ProtocolName = "grpc" | "connect" | "grpc-web";

/** The RPCs that cases call. */
export type RpcName = "Manifest" | "Select" | "Execute" | "Refuse" | "Run" | "Health" | "Unknown";

/** JSON data of a case, its placeholders not replaced yet. */
export type Data = null | boolean | number | string | readonly Data[] | DataObject;

/** A JSON object of a case. */
export interface DataObject {
  readonly [key: string]: Data;
}

/** How an RPC is to end, and what it is to give. */
export interface Expectation {
  readonly message?: Data;
  readonly messages?: readonly Data[];
  readonly lastMessage?: Data;
  readonly fault?: FaultExpectation;
}

/** The fault that an RPC or a call is to end in. */
export interface FaultExpectation {
  readonly code: string;
  readonly reason?: string;
  readonly started?: string;
  readonly message?: Data;
  readonly retryInfo?: boolean;
  /** The status may be of the client's own making. */
  readonly local?: boolean;
}

/** What the steps that begin an RPC have in common. */
interface Beginning {
  readonly request?: Data;
  /** Base64. */
  readonly requestBytes?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** One step of a case; README.md says what each does. */
export type Step =
  | (Beginning & { readonly call: RpcName; readonly expect: Expectation })
  | (Beginning & { readonly start: string; readonly rpc: RpcName })
  | { readonly send: string; readonly message?: Data; readonly requestBytes?: string }
  | { readonly receive: string; readonly message: Data }
  | { readonly receive: string; readonly anyOrder: readonly Data[] }
  | { readonly halfClose: string }
  | { readonly cancel: string }
  | { readonly end: string; readonly expect: Expectation }
  | { readonly pauseMs: number };

/** One case of the contract. */
export interface ContractCase {
  /** Unique in the suite: `topic/what`. */
  readonly id: string;
  /** A sentence about what a client may rely on. */
  readonly title: string;
  /** Default: `main`. */
  readonly server?: ServerName;
  readonly only?: { readonly protocols: readonly ProtocolName[]; readonly why: string };
  /** Why it can't pass yet; it must fail then. */
  readonly knownFailure?: string;
  readonly steps: readonly Step[];
}

const topics: readonly unknown[] = [
  manifest,
  select,
  execute,
  retry,
  budget,
  run,
  refuse,
  access,
  health,
  limits,
];

/** All cases, topic by topic. */
export const contractCases: readonly ContractCase[] = (
  topics as readonly { readonly cases: readonly ContractCase[] }[]
).flatMap(({ cases }) => cases);
