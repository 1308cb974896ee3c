import type { HandlerContext } from "@connectrpc/connect";
import type { ToolPortError } from "../errors.ts";
import type { RunRequest, RunResponse } from "../wire/v1.ts";
import { Outbox } from "./outbox.ts";
import { RunStream, type RunStreamOptions } from "./run-stream.ts";
import { scopeOf } from "./scope.ts";

// I1  One loop reads the requests; it is awaited by nobody but ends in the outbox, which every road
//     out of the RPC goes through, and it never throws.
// I2  While very much waits for a peer that does not read, its requests are not read either, so that
//     what it makes wait is bounded. It takes that much, since many a client sends all that it has
//     before it reads.
// I3  Of the requests that have come, so many are taken in one turn of the loop: a kernel that starts
//     ten thousand calls at once does not keep it to itself.

/** How many unread bytes stop the reading of requests. */
export const maxUnreadBytes: number = 64 << 20;

/** How many requests are taken before others get a turn of the loop. */
export const requestsATurn = 64;

/** Serves one live run whose requests are an iterable, for who reads its answers as one. */
export function streamRun(
  requests: AsyncIterable<RunRequest>,
  context: HandlerContext,
  options: RunStreamOptions,
): AsyncIterable<RunResponse> {
  const { principal, goneCause, deadline } = scopeOf(context);
  let readOn: (() => void) | undefined;
  const outbox = new Outbox<RunResponse>({
    room() {
      stream.resume();
      readOn?.();
    },
    left() {
      stream.leave(goneCause());
      readOn?.();
    },
  });
  const stream = new RunStream(principal, outbox, options);
  context.signal.addEventListener("abort", () => stream.leave(goneCause()));
  deadline
    ?.race(new Promise<never>(() => {}))
    .catch((fault: ToolPortError) => stream.expire(fault));
  void read();
  return outbox;

  async function read(): Promise<void> {
    let taken = 0;
    try {
      for await (const request of requests) {
        taken += 1;
        if (taken % requestsATurn === 0) await new Promise((resolve) => setImmediate(resolve));
        stream.take(request);
        if (outbox.bytes > maxUnreadBytes) {
          await new Promise<void>((resolve) => {
            readOn = resolve;
          });
        }
      }
      stream.halfClose();
    } catch (thrown) {
      if (!context.signal.aborted) stream.break(thrown);
    }
  }
}
