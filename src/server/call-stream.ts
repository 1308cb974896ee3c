import { create, toBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { CallEvent, CallRequest } from "../domain/call.ts";
import { ToolPortError } from "../errors.ts";
import type { CallEnd, Executor, Ticket } from "../execution/port.ts";
import type { Log } from "../internal/log.ts";
import { toEvent } from "../wire/call.ts";
import { toConnectError } from "../wire/faults.ts";
import { type ExecuteResponse, ExecuteResponseSchema } from "../wire/v1.ts";
import { fitAnswer, requireAnswerable, weightOf } from "./answer.ts";
import { Outbox } from "./outbox.ts";
import { scopeOf } from "./scope.ts";

/** What a call's stream needs. */
export interface CallStreamOptions {
  readonly executor: Executor;
  readonly maxMessageBytes: number;
  readonly log: Log;
}

/**
 * Executes one call and gives what comes of it, with back-pressure: while the reader is behind the
 * executor is asked to pause. However the reader goes, the call is left.
 *
 * @throws ToolPortError MESSAGE_TOO_LARGE for a request whose answer could not be sent
 */
export function streamCall(
  request: CallRequest,
  context: HandlerContext,
  { executor, maxMessageBytes, log }: CallStreamOptions,
): AsyncIterable<ExecuteResponse> {
  requireAnswerable(request, maxMessageBytes);
  const { principal, deadline, goneCause } = scopeOf(context);
  const { signal } = context;
  let ticket: Ticket | undefined;
  const leave = (): void => ticket?.leave(goneCause());
  const outbox = new Outbox<ExecuteResponse>({ room: () => ticket?.resume(), left: leave });
  const event = (happened: CallEvent): boolean => {
    const init = toEvent(happened);
    const bytes = sizeOf(happened);
    const response = create(ExecuteResponseSchema, { event: init });
    const isTooLarge =
      bytes > maxMessageBytes / 4 &&
      toBinary(ExecuteResponseSchema, response).byteLength > maxMessageBytes;
    if (!isTooLarge) return outbox.push(response, bytes);
    outbox.end({ reason: toConnectError(outputTooLarge(maxMessageBytes), log) });
    // In a later turn: this one is the executor's own, in the midst of telling.
    queueMicrotask(() => ticket?.leave("cancelled"));
    return true;
  };
  const end = (ending: CallEnd): void => {
    signal.removeEventListener("abort", leave);
    if (ending.kind === "fault") {
      outbox.end({ reason: toConnectError(ending.fault, log) });
      return;
    }
    const { chunks, call } = fitAnswer(
      request,
      ending.outcome,
      request.acceptChunks,
      maxMessageBytes,
    );
    for (const chunk of chunks) {
      const response = create(ExecuteResponseSchema, { event: { case: "chunk", value: chunk } });
      outbox.push(response, chunk.data.byteLength);
    }
    outbox.push(
      create(ExecuteResponseSchema, { event: { case: "call", value: call } }),
      weightOf(call),
    );
    outbox.end();
  };
  signal.addEventListener("abort", leave);
  ticket = executor.execute(request, { principal, event, end }, deadline?.leftMs);
  if (signal.aborted) leave();
  return outbox;
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
