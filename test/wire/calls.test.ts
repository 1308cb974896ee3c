import { fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import test from "ava";
import fc from "fast-check";
import type { Outcome } from "../../src/domain/call.ts";
import { catalogue, type ErrorCode, ToolPortError } from "../../src/errors.ts";
import { silent } from "../../src/internal/log.ts";
import { toEvent, toRefusedCall, toToolCall } from "../../src/wire/call.ts";
import { faultDomain, toConnectError, toStatus } from "../../src/wire/faults.ts";
import { ErrorInfoSchema, ErrorKind, RetryInfoSchema, ToolCallSchema } from "../../src/wire/v1.ts";

const asked = { callId: "c", name: "n", argumentsJson: ' {"a": 1.0} ' };

function success(result: string, durationMs = 1): Outcome {
  return {
    ok: true,
    result,
    structuredJson: undefined,
    content: [],
    durationMs,
    attempt: 1,
    replayed: false,
  };
}

test("an empty result is present, and no error is", (t) => {
  const call = toToolCall(asked, success(""));
  t.is(call.result, "");
  t.is(call.error, undefined);
  t.is(call.errorKind, ErrorKind.UNSPECIFIED);
  t.is(call.argumentsJson, asked.argumentsJson);
});

test("a duration is a finite number that is not negative, in binary and in JSON", (t) => {
  for (const durationMs of [0, 0.25, 1e9, -0, -1, Number.NaN, Infinity]) {
    const call = toToolCall(asked, success("", durationMs));
    t.true(Number.isFinite(call.durationMs) && call.durationMs >= 0);
    t.deepEqual(fromBinary(ToolCallSchema, toBinary(ToolCallSchema, call)), call);
    t.deepEqual(fromJson(ToolCallSchema, toJson(ToolCallSchema, call)), call);
  }
});

test("any text of a tool's can be sent, lone surrogates and all", (t) => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (text, tail) => {
      const torn = `${text}\ud800${tail}`;
      const call = toToolCall(asked, success(torn));
      const back = fromBinary(ToolCallSchema, toBinary(ToolCallSchema, call));
      return back.result === torn.toWellFormed() && toEvent({ kind: "text", text: torn }) !== null;
    }),
  );
  t.pass();
});

test("a refusal without a reason has the usual one; a blank reason stands", (t) => {
  t.is(toRefusedCall(asked, "").error, "refused by a tool precondition");
  t.is(toRefusedCall(asked, " ").error, " ");
  t.is(toRefusedCall(asked, "no").errorKind, ErrorKind.REFUSED);
  t.is(toRefusedCall(asked, "no").durationMs, 0);
});

test("every fault that travels says its reason, whether it started, and when to ask again", (t) => {
  for (const code of Object.keys(catalogue) as ErrorCode[]) {
    if (catalogue[code].status === null) continue;
    for (const started of ["no", "yes", "unknown"] as const) {
      const fault = new ToolPortError(code, "why", { started, retryAfterMs: 1234 });
      const error = toConnectError(fault, silent);
      t.is(error.rawMessage, "why");
      const info = error.findDetails(ErrorInfoSchema)[0];
      t.deepEqual([info?.domain, info?.reason, info?.metadata], [faultDomain, code, { started }]);
      const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
      t.deepEqual([delay?.seconds, delay?.nanos], [1n, 234_000_000]);
      t.is(toStatus(fault, silent).code, error.code);
      t.is(toStatus(fault, silent).details.length, 2);
    }
  }
});

test("what is no fault of the catalogue travels as INTERNAL and is logged", (t) => {
  const logged: unknown[] = [];
  for (const thrown of [
    new Error("secret"),
    "secret",
    null,
    new ToolPortError("CONFIGURATION", "secret"),
  ]) {
    const error = toConnectError(thrown, (_level, _event, fields) =>
      logged.push(fields?.["error"]),
    );
    t.is(error.code, Code.Internal);
    t.notRegex(error.message, /secret/u);
    t.is(logged.at(-1), thrown);
  }
});

test("a fault's text is cut where a header would grow too large", (t) => {
  const error = toConnectError(
    new ToolPortError("REQUEST_INVALID", "\ud83d\ude80".repeat(5000)),
    silent,
  );
  t.true(error.rawMessage.length <= 1024);
  t.true(error.rawMessage.isWellFormed());
});
