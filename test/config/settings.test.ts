import test from "ava";

import { connect } from "../../src/client/index.ts";
import { checkLimits, limitSettings, resolveLimits } from "../../src/config/limits.ts";
import { readServeConfig } from "../../src/config/serve-config.ts";
import { helpText } from "../../src/config/settings.ts";
import { parseAddress } from "../../src/server/address.ts";

const message = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return "nothing was thrown";
};

test("without flags and variables everything has its default", (t) => {
  const config = readServeConfig({}, {});
  t.is(config.address, undefined);
  t.is(config.insecureNoAuth, false);
  t.is(config.limits.maxMessageBytes, 64 * 1024 * 1024);
  t.true(Object.isFrozen(config));
  t.true(Object.isFrozen(config.limits));
});

test("a flag wins over a variable, which wins over the tools file, which wins over the default", (t) => {
  const env = { TOOLPORT_DRAIN_GRACE_MS: "20", TOOLPORT_MAX_CALLS_QUEUED: "30" };
  const stated = { drainGraceMs: 1, maxCallsQueued: 2, maxCallsInFlight: 3 };
  const { limits } = readServeConfig({ drainGraceMs: "10" }, env, stated);
  t.is(limits.drainGraceMs, 10);
  t.is(limits.maxCallsQueued, 30);
  t.is(limits.maxCallsInFlight, 3);
  t.is(limits.continueGraceMs, limitSettings.continueGraceMs.fallback);
});

test("an empty variable is an unset one", (t) => {
  const config = readServeConfig({}, { TOOLPORT_ADDRESS: "", TOOLPORT_INSECURE_NO_AUTH: "" });
  t.is(config.address, undefined);
  t.is(config.insecureNoAuth, false);
});

test("a value that is not of its form is refused by the name of where it stands", (t) => {
  t.is(
    message(() => readServeConfig({ drainGraceMs: "soon" }, {})),
    '--drain-grace-ms is "soon": expected a whole number from 0 to 86400000',
  );
  t.regex(
    message(() => readServeConfig({}, { TOOLPORT_MAX_MESSAGE_BYTES: "1" })),
    /^TOOLPORT_MAX_MESSAGE_BYTES is "1": expected a whole number from 65536/,
  );
  t.regex(
    message(() => readServeConfig({}, { TOOLPORT_EXIT_WITH_PARENT: "maybe" })),
    /^TOOLPORT_EXIT_WITH_PARENT is "maybe": expected 1, true, 0 or false/,
  );
});

for (const port of ["65536", "99999", "100000", "70000000000000000000"]) {
  test(`the port ${port}, which no host has, is refused by name`, (t) => {
    const address = `localhost:${port}`;
    t.is(
      message(() => readServeConfig({}, { TOOLPORT_ADDRESS: address })),
      `the address "${address}" has port ${port}, but the highest is 65535: give a lower one`,
    );
    t.regex(
      message(() => parseAddress(address)),
      new RegExp(`has port ${port}, but the highest is 65535`),
    );
    t.regex(
      message(() => connect({ address })),
      new RegExp(`its port is ${port}, but the highest is 65535`),
    );
  });
}

for (const address of ["localhost", "1.2.3.4:port", "unix:", "http://localhost:80", "::1:80"]) {
  test(`the address ${address} is refused`, (t) => {
    t.regex(
      message(() => readServeConfig({ address }, {})),
      /expected unix:.* or host:port/,
    );
  });
}

for (const address of [
  "localhost:0",
  "localhost:65535",
  "127.0.0.1:7000",
  "[::1]:80",
  "unix:/tmp/a.sock",
]) {
  test(`the address ${address} is taken`, (t) => {
    t.is(readServeConfig({ address }, {}).address, address);
  });
}

test("no token and a token at once is refused", (t) => {
  const text = message(() => readServeConfig({ insecureNoAuth: true, tokenFile: "t" }, {}));
  t.regex(text, /contradicts a token/);
  t.notRegex(
    message(() => readServeConfig({ insecureNoAuth: true }, { TOOLPORT_TOKEN: "hidden" })),
    /hidden/,
  );
});

test("limits in a tools file are checked by name", (t) => {
  t.regex(
    message(() => checkLimits({ maxCalls: 1 })),
    /limits has no maxCalls: expected any of maxMessageBytes, /,
  );
  t.regex(
    message(() => checkLimits({ drainGraceMs: -1 })),
    /limits\.drainGraceMs is -1: expected/,
  );
  t.regex(
    message(() => checkLimits({ drainGraceMs: "1" })),
    /limits\.drainGraceMs is string/,
  );
  t.regex(
    message(() => checkLimits([])),
    /expected an object/,
  );
  t.is(resolveLimits(checkLimits({ drainGraceMs: 5 })).drainGraceMs, 5);
});

test("help names the variable and the default", (t) => {
  t.regex(
    helpText(limitSettings.drainGraceMs),
    /\(env: TOOLPORT_DRAIN_GRACE_MS, default: 10000\)$/,
  );
});
