import { writeFileSync } from "node:fs";
import test from "ava";

import { ErrorKind } from "../../src/wire/v1.ts";
import { until } from "../field/world.ts";
import { folder, isRunning, linesOf, listed, scripted, serveMounts, story } from "./world.ts";

const said = (text: string): object => ({ content: [{ type: "text", text }] });
const names = (...all: string[]): readonly [{ tools: readonly object[] }] => [
  { tools: all.map((name) => listed(name)) },
];

test("B83: calls in flight end at once with an error that names the server that died", async (t) => {
  const strays: unknown[] = [];
  const stray = (error: unknown): number => strays.push(error);
  process.on("unhandledRejection", stray);
  t.teardown(() => process.off("unhandledRejection", stray));
  const { call } = await serveMounts(t, [
    scripted({
      name: "mortal",
      pages: names("hang", "die"),
      answers: { hang: "nothing", die: "die" },
    }),
    scripted({ pages: names("other"), answers: { other: said("still here") } }),
  ]);
  const hanging = call("hang");
  await call("other");
  const dying = call("die");
  for (const lost of await Promise.all([hanging, dying])) {
    t.is(lost.errorKind, ErrorKind.HOST_LOST);
    t.is(lost.error, 'HostLost: the MCP server "mortal" was ended by SIGKILL during the call');
    t.true(lost.durationMs < 2000);
  }
  t.is((await call("other")).result, "still here");
  t.deepEqual(strays, []);
});

test("B84: a server that died is started again with its next use, and no call twice", async (t) => {
  const log = `${folder(t)}/log`;
  const { call, port, logged } = await serveMounts(t, [
    scripted({
      name: "mortal",
      log,
      pages: names("die", "exit", "pid"),
      answers: { die: "die", exit: "exit", pid: "pid" },
    }),
  ]);
  const first = (await call("pid")).result;
  t.is((await call("die")).errorKind, ErrorKind.HOST_LOST);
  const second = (await call("pid")).result;
  t.not(second, first);
  t.is(
    (await call("exit")).error,
    'HostLost: the MCP server "mortal" ended with exit code 0 during the call',
  );
  // Ended while nobody asks for anything.
  const third = Number((await call("pid")).result);
  process.kill(third, "SIGKILL");
  await until(() => port.mounts()[0]?.state === "down");
  t.false(isRunning(third));
  const fourth = Number((await call("pid")).result);
  t.true(isRunning(fourth));
  t.like(port.mounts(), [{ server: "mortal", state: "up", restarts: 3, changes: 0 }]);
  t.is(linesOf(log).filter((line) => line.startsWith("start ")).length, 4);
  t.is(linesOf(log).filter((line) => line.includes('"die"')).length, 1);
  t.is(logged.filter(({ event }) => event === "mount_lost").length, 3);
});

test("B84: a server that dies during its handshake is tried again", async (t) => {
  const left = `${folder(t)}/left`;
  writeFileSync(left, "0");
  const { call, port } = await serveMounts(t, [
    scripted(
      {
        left,
        endsAt: "initialize",
        pages: names("die", "echo"),
        answers: { die: "die", echo: said("up") },
      },
      { restart: { delayMs: 10 } },
    ),
  ]);
  t.is((await call("die")).errorKind, ErrorKind.HOST_LOST);
  writeFileSync(left, "2");
  t.is((await call("echo")).result, "up");
  t.is(port.mounts()[0]?.restarts, 1);
});

test("B84: a server that doesn't come back is a clear error, at once when the bound is reached", async (t) => {
  const path = folder(t);
  const left = `${path}/left`;
  const log = `${path}/log`;
  writeFileSync(left, "0");
  const { call } = await serveMounts(t, [
    scripted(
      {
        name: "gone",
        left,
        log,
        endsAt: "start",
        exitCode: 7,
        pages: names("die"),
        answers: { die: "die" },
      },
      { restart: { limit: 2, delayMs: 10 } },
    ),
  ]);
  t.is((await call("die")).errorKind, ErrorKind.HOST_LOST);
  writeFileSync(left, "99");
  const starts = (): number => linesOf(log).filter((line) => line.startsWith("start ")).length;
  for (const lost of [await call("die"), await call("die")]) {
    t.is(lost.errorKind, ErrorKind.HOST_LOST);
    t.regex(
      lost.error ?? "",
      /^HostLost: the MCP server "gone" is gone, and was tried 2 times within 60000 ms; the next attempt is allowed in \d+ s/u,
    );
  }
  t.is(starts(), 3);
  t.is(linesOf(log).filter((line) => line.includes("tools/call")).length, 1);
});

test("a server that is not to be restarted stays away", async (t) => {
  const { call } = await serveMounts(t, [
    scripted(
      { name: "once", pages: names("die"), answers: { die: "die" } },
      { restart: { limit: 0 } },
    ),
  ]);
  await call("die");
  t.is(
    (await call("die")).error,
    'HostLost: the MCP server "once" is gone, and is not to be restarted',
  );
});

test("B18: changed tools are logged, the set stays, and a removed one fails by name", async (t) => {
  const { names: list, call, port, logged } = await serveMounts(t, [story()]);
  const before = await list();
  const { digest } = port.registry;
  t.is((await call("change")).result, "changed");
  await until(() => logged.some(({ event }) => event === "mount_tools_changed"));
  const [change] = logged.filter(({ event }) => event === "mount_tools_changed");
  t.is(change?.level, "warn");
  t.like(change?.fields, {
    server: "story",
    added: ["beta"],
    removed: ["alpha"],
    changed: ["gamma"],
  });
  t.deepEqual(await list(), before);
  t.is(port.registry.digest, digest);
  t.is(port.mounts()[0]?.changes, 3);
  const removed = await call("alpha");
  t.is(removed.errorKind, ErrorKind.RAISED);
  t.is(removed.error, 'the MCP server "story" no longer offers the tool "alpha"');
  t.is((await call("beta")).errorKind, ErrorKind.UNKNOWN_TOOL);
  t.is((await call("echo", '{"text":"on"}')).result, "on");
});

test("with the sidecar its servers end, even those that would not", async (t) => {
  const log = `${folder(t)}/log`;
  const { close, port } = await serveMounts(t, [
    scripted({ log, pages: names("a") }),
    scripted({ log, isStubborn: true, pages: names("b") }),
  ]);
  const pids = linesOf(log).map((line) => Number(line.replace("start ", "")));
  t.true(pids.length >= 2);
  await close();
  t.deepEqual(pids.filter(isRunning), []);
  t.true(port.mounts().every(({ state }) => state === "closed"));
});
