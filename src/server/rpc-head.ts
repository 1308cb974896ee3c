import { isToolPortError, ToolPortError } from "../errors.ts";
import type { Authenticate } from "./authenticate.ts";
import { deadlineFault, readTimeout } from "./deadline.ts";

/** Who is let in, and when. */
export interface Gate {
  readonly authenticate: Authenticate;
  /** Whether the server is shutting down and takes no new calls. */
  isDraining(): boolean;
}

/** What a request's headers say of its RPC. */
export interface RpcHead {
  /** Who asks; empty where everybody is the same. */
  readonly principal: string;
  /** The caller's deadline, in milliseconds from now; undefined where there is none. */
  readonly timeoutMs: number | undefined;
  /** Why the RPC may not go on at all; answered before its message is read. */
  readonly refusal: ToolPortError | undefined;
}

/** Paths that need no credential and are answered while draining. */
const healthPrefix = "/grpc.health.v1.Health/";

/** Paths that stay open to whoever is authenticated while draining. */
const reflectionPrefix = "/grpc.reflection.";

/** Headers as either version of HTTP gives them. */
export type HeaderValues = Readonly<Record<string, string | string[] | undefined>>;

/** Reads what the headers say of the RPC; what is wrong with them becomes its refusal. */
export function readHead(headers: HeaderValues, path: string, gate: Gate): RpcHead {
  let principal = "";
  let timeoutMs: number | undefined;
  let refusal: ToolPortError | undefined;
  try {
    const isHealth = path.startsWith(healthPrefix);
    if (!isHealth) principal = gate.authenticate(joined(headers["authorization"]));
    if (!isHealth && gate.isDraining() && !path.startsWith(reflectionPrefix)) {
      throw new ToolPortError("DRAINING", "the server is shutting down and takes no new calls");
    }
    timeoutMs = readTimeout(joined(headers["grpc-timeout"]), joined(headers["connect-timeout-ms"]));
    if (timeoutMs !== undefined && timeoutMs <= 0) throw deadlineFault();
  } catch (thrown) {
    if (!isToolPortError(thrown)) throw thrown;
    refusal = thrown;
  }
  return { principal, timeoutMs, refusal };
}

/** A header that may have come several times, as one text. */
export function joined(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" || value === undefined ? value : value.join(",");
}
