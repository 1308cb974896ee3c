import { ToolPortError } from "../errors.ts";
import type { Log } from "../internal/log.ts";
import { after } from "../internal/timers.ts";
import { toConnectError } from "../wire/faults.ts";
import type { Deadline } from "./deadline.ts";

/**
 * A request's body, read no longer than the deadline and the time that it may take as a whole.
 *
 * @param withinMs in milliseconds; undefined where it may take as long as it likes
 */
export function boundBody(
  body: AsyncIterable<Uint8Array>,
  deadline: Deadline | undefined,
  withinMs: number | undefined,
  log: Log,
): AsyncIterable<Uint8Array> {
  if (!deadline && withinMs === undefined) return body;
  return {
    [Symbol.asyncIterator]() {
      const source = body[Symbol.asyncIterator]();
      const { promise: late, reject } = Promise.withResolvers<never>();
      late.catch(() => {});
      const timer =
        withinMs === undefined ? undefined : after(withinMs, () => reject(lateFault(withinMs)));
      const next = async (): Promise<IteratorResult<Uint8Array>> => {
        const step = source.next();
        step.catch(() => {});
        const timely = timer ? Promise.race([step, late]) : step;
        try {
          const result = await (deadline ? deadline.race(timely) : timely);
          if (result.done) timer?.stop();
          return result;
        } catch (thrown) {
          timer?.stop();
          throw thrown instanceof ToolPortError ? toConnectError(thrown, log) : thrown;
        }
      };
      return {
        next,
        async return() {
          timer?.stop();
          // Not awaited: a source that waits for its peer would hold whoever gives it up.
          source.return?.().catch(() => {});
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function lateFault(withinMs: number): ToolPortError {
  return new ToolPortError(
    "REQUEST_INVALID",
    `the request's message did not come within ${withinMs} ms`,
  );
}
