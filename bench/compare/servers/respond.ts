import type { MessageInitShape } from "@bufbuild/protobuf";

import type { RunRequest, RunResponseSchema, ToolRequest } from "../../../src/wire/v1.ts";
import { answerTo } from "./answer.ts";

/** Answers a message of a run: `opened` to the first one, a call's end to each that executes. */
export function respond({ message }: RunRequest): MessageInitShape<typeof RunResponseSchema> {
  if (message.case !== "execute") return { message: { case: "opened", value: {} } };
  const { tag, request } = message.value;
  const call = answerTo(request?.request as ToolRequest);
  return {
    message: {
      case: "event",
      value: { tag, callId: call.id, event: { case: "call", value: call } },
    },
  };
}
