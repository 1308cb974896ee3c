import test from "ava";

import { failureOf } from "../../src/cli/failure.ts";
import { catalogue, ConfigurationError, type ErrorCode, ToolPortError } from "../../src/errors.ts";
import { expired, full } from "../../src/journal/faults.ts";
import { bearerTokens } from "../../src/server/authenticate.ts";

const told = (code: ErrorCode, message: string): string =>
  failureOf(new ToolPortError(code, message)).line;

const thrown = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
};

test("a fault whose message says what to do is told as it is", (t) => {
  t.is(
    failureOf(expired({ principal: "", runId: "r" })).line,
    'the records of run "r" have been pruned; use a new run id (RUN_EXPIRED)',
  );
  t.regex(failureOf(full(2, 1)).line, /ask again once .* some of them \(JOURNAL_UNAVAILABLE\)$/);
  for (const [code, message] of [
    [
      "CALL_ID_MISSING",
      "request.call_id is empty; give every call an id that is unique in its run",
    ],
    ["REQUEST_INVALID", "timeout_ms is 0, must be at least 1; leave it out for no limit"],
    ["JOURNAL_UNAVAILABLE", "the journal failed: the disk failed; mend it, then ask again"],
    ["INTERNAL", "a defect of the server; its log says more"],
  ] as const) {
    t.is(told(code, message), `${message} (${code})`);
  }
});

test("a fault whose message does not say what to do is told with its advice", (t) => {
  for (const [code, message] of [
    ["DEADLINE_EXCEEDED", "the deadline passed before the answer was there"],
    ["REQUEST_INVALID", "request is missing; it names the call"],
    ["MESSAGE_TOO_LARGE", "the request has 9 bytes; the answer repeats it and could not be sent"],
  ] as const) {
    t.is(told(code, message), `${message} (${code}). ${catalogue[code].advice}`);
  }
});

test("a call that was cancelled is not told twice", (t) => {
  t.is(told("CANCELLED", "the call of f was cancelled"), "the call of f was cancelled (CANCELLED)");
});

test("where a token is asked for, the flag and the variable that give it are named", (t) => {
  const enter = bearerTokens(["right"]);
  const missing = failureOf(thrown(() => enter(undefined)));
  const wrong = failureOf(thrown(() => enter("Bearer wrong")));
  const give = /^.*\(UNAUTHENTICATED\)\. Give .* --token-file FILE or in TOOLPORT_TOKEN /;
  t.regex(missing.line, give);
  t.regex(missing.line, /^no credential was sent \(/);
  t.regex(wrong.line, give);
  t.regex(wrong.line, /^the credential is not valid \(/);
  t.deepEqual([missing.exitCode, wrong.exitCode], [1, 1]);
});

test("a configuration error is its own sentence, in one line", (t) => {
  t.deepEqual(failureOf(new ConfigurationError("one\n  two")), { exitCode: 2, line: "one two" });
});
