import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";

import anyTest from "ava";

import { ended, gather, until, Workplace } from "./lib/run-cli.ts";
import { toolsText } from "./lib/tools-text.ts";

// Each test runs processes of its own: one after another they don't starve each other.
const test = anyTest.serial;
const place = new Workplace();
const tools = place.write("tools.ts", toolsText);
anyTest.after.always(() => place.remove());

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("serve prints one line of JSON, answers, and ends on SIGTERM leaving nothing behind", async (t) => {
  const sidecar = await place.serve([tools]);
  const { address, digest, pid } = sidecar.ready;
  t.like(sidecar.ready, { toolport: 1, tokenFile: undefined });
  t.regex(address, /^unix:\/.*\/port\.sock$/);
  t.regex(digest, /^sha256:[0-9a-f]{64}$/);
  t.is(sidecar.child.pid, pid);
  const socket = address.slice("unix:".length);
  t.is(statSync(socket).mode & 0o777, 0o600);
  t.is(statSync(dirname(socket)).mode & 0o777, 0o700);
  const env = { TOOLPORT_ADDRESS: address };
  const called = await place.run(["call", "shout", "text=hi", "--output", "text"], env);
  t.is(called.stdout, "HI\n", called.stderr);
  t.is(await sidecar.stop(), 0);
  t.false(existsSync(dirname(socket)));
  const { stdout, stderr } = sidecar.output();
  t.is(stdout.split("\n").length, 2);
  t.regex(stderr, /printed while loading/);
  t.regex(stderr, /printed by a tool/);
});

test("over TCP a token is made, asked for, and given by its file", async (t) => {
  const sidecar = await place.serve([tools, "--address", "127.0.0.1:0"]);
  const { address, tokenFile = "" } = sidecar.ready;
  t.regex(address, /^127\.0\.0\.1:[1-9]\d*$/);
  t.is(statSync(tokenFile).mode & 0o777, 0o600);
  const without = await place.run(["manifest", "--address", address]);
  t.is(without.code, 1);
  t.regex(
    without.stderr,
    /^toolport: .*\(UNAUTHENTICATED\)\. Give .* --token-file FILE or in TOOLPORT_TOKEN .*\n$/,
  );
  const wrong = await place.run(["manifest", "--address", address], {
    TOOLPORT_TOKEN: "this-is-not-the-token",
  });
  t.is(wrong.code, 1);
  t.regex(wrong.stderr, /UNAUTHENTICATED/);
  t.notRegex(wrong.stderr, /this-is-not/);
  const right = await place.run(["manifest", "--address", address, "--token-file", tokenFile]);
  t.is(right.code, 0, right.stderr);
  await sidecar.stop();
  t.false(existsSync(tokenFile));
});

test("a token file that is given is used as it is, or made", async (t) => {
  const made = join(place.path, "made-token");
  const first = await place.serve([tools, "--address", "127.0.0.1:0", "--token-file", made]);
  t.is(first.ready.tokenFile, made);
  t.is(statSync(made).mode & 0o777, 0o600);
  const token = readFileSync(made, "utf8");
  await first.stop();
  const second = await place.serve([tools, "--address", "127.0.0.1:0", "--token-file", made]);
  t.is(readFileSync(made, "utf8"), token);
  const called = await place.run(["manifest", "--address", second.ready.address], {
    TOOLPORT_TOKEN: token.trim(),
  });
  t.is(called.code, 0, called.stderr);
  await second.stop();
});

test("no token at all must be asked for by name, and is warned of", async (t) => {
  const sidecar = await place.serve([tools, "--address", "127.0.0.1:0", "--insecure-no-auth"]);
  const called = await place.run(["manifest", "--address", sidecar.ready.address]);
  t.is(called.code, 0, called.stderr);
  t.regex(sidecar.output().stderr, /warn no_authentication/);
  await sidecar.stop();
});

test("SIGTERM lets a call in flight finish within the grace, then stops it", async (t) => {
  const sidecar = await place.serve([tools, "--drain-grace-ms", "300"]);
  const caller = place.start(["call", "slow", "--address", sidecar.ready.address]);
  const stderr = gather(caller.stderr);
  const end = ended(caller);
  await until(() => stderr().includes("partial"));
  t.is(await sidecar.stop(), 0);
  t.is(await end, 1);
  t.regex(sidecar.output().stderr, /slow was stopped/);
});

test("with --exit-with-parent it ends when its standard input closes", async (t) => {
  const sidecar = await place.serve([tools, "--exit-with-parent"]);
  const end = ended(sidecar.child);
  sidecar.child.stdin?.end();
  t.is(await end, 0);
  t.false(existsSync(dirname(sidecar.ready.address.slice(5))));
});

test("with --exit-with-parent it ends when its parent is killed, whatever its input is", async (t) => {
  // The shell in between is the parent; its death leaves the sidecar's standard streams open.
  const shell = place.shell(`"$0" "$1" serve "${tools}" --exit-with-parent </dev/null & wait`);
  const stdout = gather(shell.stdout);
  await until(() => stdout().includes("\n"));
  const { pid } = JSON.parse(stdout()) as { pid: number };
  t.notThrows(() => process.kill(pid, 0));
  shell.kill("SIGKILL");
  await until(() => !isAlive(pid));
  t.pass();
});

test("without it a closed standard input means nothing", async (t) => {
  const sidecar = await place.serve([tools]);
  sidecar.child.stdin?.end();
  const called = await place.run(["manifest", "--address", sidecar.ready.address]);
  t.is(called.code, 0, called.stderr);
  t.is(await sidecar.stop("SIGINT"), 0);
});

const refused = anyTest.macro({
  async exec(t, args: readonly string[], expected: RegExp, env: Record<string, string> = {}) {
    const { code, stdout, stderr } = await place.run(["serve", ...args], env);
    t.is(code, 2, stderr);
    t.is(stdout, "");
    const said = stderr.split("\n").filter((line) => line.startsWith("toolport: "));
    t.is(said.length, 1, stderr);
    t.regex(said[0] ?? "", expected);
  },
  title: (given) => `serve refuses ${given} before it listens, with code 2`,
});

const write = (name: string, text: string): string[] => [place.write(name, text)];
const imports = 'import { defineTool, defineTools } from "toolport";\n';

test(
  "a file that does not exist",
  refused,
  ["absent.ts"],
  /absent\.ts does not exist: give the path of a tools file/,
);
test(
  "a file that throws",
  refused,
  write("throws.ts", 'throw new Error("no luck");'),
  /throws\.ts:1 throws while it is loaded: Error: no luck/,
);
test(
  "a file that ends the process",
  refused,
  write("exits.ts", "process.exit(0);"),
  /exits\.ts:1 throws while it is loaded: Error: process\.exit is refused/,
);
test(
  "a plain array",
  refused,
  write("array.ts", "export default [];"),
  /exports a plain array.*defineTools\(\{ tools: \[\.\.\.\] \}\)/,
);
test(
  "two tools of one name",
  refused,
  write(
    "twice.ts",
    `${imports}const a = defineTool({ name: "same", description: "One.", execute: () => 1 });
     export default defineTools({ tools: [a, { ...a }, a] });`,
  ),
  /tools\[\d\]/,
);
test(
  "a palette that is not a list",
  refused,
  write(
    "palette.ts",
    `${imports}export default defineTools({ tools: [], palettes: { reader: 3 } });`,
  ),
  /palettes?.*reader/,
);
test(
  "a number that is none",
  refused,
  [tools, "--drain-grace-ms", "soon"],
  /--drain-grace-ms is "soon": expected a whole number/,
);
test("a variable of no known form", refused, [tools], /TOOLPORT_MAX_CALLS_QUEUED is "-1"/, {
  TOOLPORT_MAX_CALLS_QUEUED: "-1",
});
test(
  "an address of no known form",
  refused,
  [tools, "--address", "localhost"],
  /the address "localhost" is of no known form/,
);
test(
  "a port that no host has",
  refused,
  [tools, "--address", "localhost:99999"],
  /^toolport: the address "localhost:99999" has port 99999, but the highest is 65535/,
);
test(
  "a token file that holds no token",
  refused,
  [tools, "--address", "127.0.0.1:0", "--token-file", join(place.path, "empty-token")],
  /empty-token holds no token/,
);
writeFileSync(join(place.path, "empty-token"), "\n");

test("serve refuses a port in use, and a path that is no socket, with code 2", async (t) => {
  const other = createServer();
  await new Promise<void>((resolve) => {
    other.listen(0, "127.0.0.1", resolve);
  });
  const { port } = other.address() as { port: number };
  const used = await place.run(["serve", tools, "--address", `127.0.0.1:${port}`]);
  t.is(used.code, 2);
  t.regex(
    used.stderr,
    /toolport: 127\.0\.0\.1:\d+ is in use by another process; choose another port/,
  );
  other.close();
  const file = place.write("a-file", "kept");
  const taken = await place.run(["serve", tools, "--address", `unix:${file}`]);
  t.is(taken.code, 2);
  t.regex(taken.stderr, /toolport: there is a file at .* that is no socket/);
  t.is(readFileSync(file, "utf8"), "kept");
});
