import { toBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { CallEvent, CallRequest } from "../domain/call.ts";
import { ToolPortError } from "../errors.ts";
import type { CallEnd, Executor, Ticket } from "../execution/port.ts";
import type { Log } from "../internal/log.ts";
import { toEvent } from "../wire/call.ts";
import { toConnectError } from "../wire/faults.ts";
import { type ExecuteResponse, ExecuteResponseSchema } from "../wire/v1.ts";
import { fitAnswer, requireAnswerable, weightOf } from "./answer.ts";
import type { Outlet } from "./outlet.ts";
import { Outbox } from "./outbox.ts";
import { scopeOf } from "./scope.ts";

/** What a call's stream needs. */
export interface CallStreamOptions {
  readonly executor: Executor;
  readonly maxMessageBytes: number;
  readonly log: Log;
}

/** Who makes a call, and how long it has. */
export interface CallScope {
  readonly principal: string;
  /** What is left of the caller's deadline, in milliseconds; undefined where there is none. */
  readonly deadlineMs: number | undefined;
}

/**
 * Executes one call; what comes of it goes to the outlet. While the reader is behind the executor is
 * asked to pause, until the ticket is told to resume.
 *
 * @throws ToolPortError MESSAGE_TOO_LARGE for a request whose answer could not be sent
 */
export function startCall(
  request: CallRequest,
  outlet: Outlet<ExecuteResponse>,
  { principal, deadlineMs }: CallScope,
  { executor, maxMessageBytes, log }: CallStreamOptions,
): Ticket {
  requireAnswerable(request, maxMessageBytes);
  const event = (happened: CallEvent): boolean => {
    const bytes = sizeOf(happened);
    const response = responseOf(toEvent(happened));
    const isTooLarge =
      bytes > maxMessageBytes / 4 &&
      toBinary(ExecuteResponseSchema, response).byteLength > maxMessageBytes;
    if (!isTooLarge) return outlet.push(response, bytes);
    outlet.end({ reason: toConnectError(outputTooLarge(maxMessageBytes), log) });
    // In a later turn: this one is the executor's own, in the midst of telling.
    queueMicrotask(() => ticket.leave("cancelled"));
    return true;
  };
  const end = (ending: CallEnd): void => {
    if (ending.kind === "fault") {
      outlet.end({ reason: toConnectError(ending.fault, log) });
      return;
    }
    const { acceptChunks } = request;
    const { chunks, call } = fitAnswer(request, ending.outcome, acceptChunks, maxMessageBytes);
    for (const chunk of chunks) {
      outlet.push(responseOf({ case: "chunk", value: chunk }), chunk.data.byteLength);
    }
    outlet.push(responseOf({ case: "call", value: call }), weightOf(call));
    outlet.end();
  };
  const ticket = executor.execute(request, { principal, event, end }, deadlineMs);
  return ticket;
}

/**
 * As {@link startCall}, for who reads the answer as an iterable. However the reader goes, the call
 * is left.
 */
export function streamCall(
  request: CallRequest,
  context: HandlerContext,
  options: CallStreamOptions,
): AsyncIterable<ExecuteResponse> {
  const { principal, deadline, goneCause } = scopeOf(context);
  const { signal } = context;
  let ticket: Ticket | undefined;
  const leave = (): void => ticket?.leave(goneCause());
  const outbox = new Outbox<ExecuteResponse>({ room: () => ticket?.resume(), left: leave });
  signal.addEventListener("abort", leave);
  ticket = startCall(request, outbox, { principal, deadlineMs: deadline?.leftMs }, options);
  if (signal.aborted) leave();
  return outbox;
}

function responseOf(event: ExecuteResponse["event"]): ExecuteResponse {
  return { $typeName: "toolport.v1.ExecuteResponse", event };
}

/** The fault of partial output that no message can carry. */
export function outputTooLarge(maxMessageBytes: number): ToolPortError {
  return new ToolPortError(
    "MESSAGE_TOO_LARGE",
    `the tool sent partial output that is larger than the message limit of ${maxMessageBytes} bytes`,
    { started: "yes" },
  );
}

/** About how many bytes an event takes. */
export function sizeOf(event: CallEvent): number {
  switch (event.kind) {
    case "progress":
      return 32 + event.message.length;
    case "text":
      return 16 + event.text.length;
    case "json":
      return 16 + event.json.length;
    case "content":
      return 64 + (event.content.data?.byteLength ?? event.content.uri?.length ?? 0);
  }
}
