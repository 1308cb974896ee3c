import { readdirSync } from "node:fs";

import anyTest from "ava";

import { toolsText } from "./lib/tools-text.ts";
import { ended, gather, until, Workplace } from "./lib/run-cli.ts";

// Each test runs processes of its own: one after another they don't starve each other.
const test = anyTest.serial;
const place = new Workplace();
const tools = place.write("tools.ts", toolsText);
anyTest.after.always(() => place.remove());

const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

test("check says what a sound file holds", async (t) => {
  const { code, stdout, stderr } = await place.run(["check", tools, "--output", "text"]);
  t.is(code, 0);
  t.regex(stdout, /^sound: .*tools\.ts offers 6 tools, 1 of them hidden\n {2}echo\n/);
  t.regex(stdout, /sha256:[0-9a-f]{64}/);
  t.regex(stderr, /printed while loading/);
});

test("check prints JSON where nobody looks", async (t) => {
  const { code, stdout } = await place.run(["check", tools]);
  t.is(code, 0);
  t.like(json(stdout), { ok: true, tools: ["echo", "shout", "fail", "slow", "quit", "secret"] });
});

test("manifest lists what is not hidden, as a table or as JSON", async (t) => {
  const table = await place.run(["manifest", "--tools", tools, "--output", "text"]);
  t.is(table.code, 0);
  t.regex(
    table.stdout,
    /^TOOL +MARKS +WHAT IT DOES\necho +read-only +Gives its arguments back\.\n/,
  );
  t.notRegex(table.stdout, /secret/);
  t.regex(table.stdout, /5 tools, sha256:/);
  const listed = json((await place.run(["manifest", "-t", tools, "--json", "--all"])).stdout);
  const [first] = listed["tools"] as Record<string, unknown>[];
  t.is((listed["tools"] as unknown[]).length, 6);
  t.like(first, { name: "echo", readOnly: true, inputSchema: { required: ["code"] } });
  t.like(listed["server"], { contract: "toolport.v1" });
});

test("manifest shows a tool in full by its name, also a hidden one", async (t) => {
  const shown = await place.run(["manifest", "echo", "secret", "-t", tools, "-o", "text"]);
  t.is(shown.code, 0);
  t.regex(shown.stdout, /All of them\./);
  t.regex(shown.stdout, /\ncode +string +Some code\n/);
  t.regex(shown.stdout, /\n\[n\] +number +\(default 1\)\n/);
  t.regex(shown.stdout, /secret {2}hidden/);
  const missing = await place.run(["manifest", "ecko", "-t", tools]);
  t.is(missing.code, 1);
  t.regex(
    missing.stderr,
    /no tool is named "ecko": `toolport manifest --all --tools \S+` lists them/,
  );
});

test("manifest prints the text for a prompt within a budget", async (t) => {
  const { stdout } = await place.run(["manifest", "--text", "--budget-tokens", "20", "-t", tools]);
  t.regex(stdout, /^ {2}- echo: Gives its arguments back\.\n {2}\.\.\. \(\+4 more\)\n$/);
});

test("call types its arguments by the schema and prints the result alone", async (t) => {
  const { code, stdout, stderr } = await place.run([
    "call",
    "echo",
    "code=007",
    "n=3",
    "tags=a,b",
    "extra.deep=true",
    "-t",
    tools,
    "-o",
    "text",
  ]);
  t.is(code, 0, stderr);
  t.deepEqual(json(stdout), { code: "007", n: 3, tags: ["a", "b"], extra: { deep: true } });
});

test("call prints text as it is, and keeps what the tool prints off standard output", async (t) => {
  const { code, stdout, stderr } = await place.run([
    "call",
    "shout",
    "text=hello",
    "--tools",
    tools,
    "--output",
    "text",
  ]);
  t.is(code, 0);
  t.is(stdout, "HELLO\n");
  t.regex(stderr, /printed by a tool/);
});

test("call takes its arguments as JSON, from the line, a file or standard input", async (t) => {
  const args = '{"code":"x","id":9007199254740993}';
  const file = place.write("args.json", args);
  const each = await Promise.all([
    place.run(["call", "echo", "--json", args, "-t", tools]),
    place.run(["call", "echo", "--json", `@${file}`, "-t", tools]),
    place.run(["call", "echo", "--json", "-", "-t", tools], {}, args),
  ]);
  for (const { code, stdout, stderr } of each) {
    t.is(code, 0, stderr);
    t.regex(stdout, /"ok":true/);
    t.regex(stdout, /"structured":\{"code":"x","id":9007199254740993,"n":1\}/);
  }
});

const failing = anyTest.macro({
  async exec(t, args: readonly string[], code: number, expected: RegExp) {
    const done = await place.run([...args, "--tools", tools, "--output", "text"]);
    t.is(done.code, code, done.stderr);
    t.is(done.stdout, "");
    const lines = done.stderr
      .trimEnd()
      .split("\n")
      .filter((line) => !line.includes("printed"));
    t.is(lines.length, 1, done.stderr);
    t.regex(lines[0] ?? "", expected);
  },
  title: (_given, args: readonly string[]) => `toolport ${args.join(" ")} fails in one line`,
});

test(failing, ["call", "fail"], 1, /^fail failed: RangeError: nothing works \(RAISED\)$/);
test(
  failing,
  ["call", "nope"],
  1,
  /^nope failed: unknown tool 'nope' \(UNKNOWN_TOOL\); `toolport manifest --all --tools \S+` lists/,
);
test(
  failing,
  ["call", "echo"],
  1,
  /^echo failed: InvalidArguments: .*code.* \(INVALID_ARGUMENTS\); `toolport manifest echo --tools \S+` shows/,
);
test(failing, ["call", "echo", "code=1", "n=x"], 1, /^echo failed: .*n.*number/);
test(
  failing,
  ["call", "echo", "--json", "{bad"],
  2,
  /^toolport: the value of --json is not JSON: /,
);
test(failing, ["call", "echo", "--json", "[1]"], 2, /is not a JSON object: expected one such as/);
test(failing, ["call", "echo", "a=1", "--json", "{}"], 2, /use one of the two forms/);
test(failing, ["call", "echo", "word"], 2, /"word" is of no known form: expected key=value/);
test(
  failing,
  ["call", "slow", "--timeout-ms", "soon"],
  2,
  /'--timeout-ms <ms>' argument 'soon' is invalid/,
);
test(failing, ["select", "--messages", "{}"], 2, /cannot read --messages: .*expected an array/);
test(failing, ["call", "echo", "--address", "unix:/x"], 2, /--tools and --address both say/);

test("a port that no host has is refused before a connection is tried", async (t) => {
  const done = await place.run(["manifest", "--address", "localhost:99999"]);
  t.is(done.code, 2);
  t.regex(done.stderr, /^toolport: the address "localhost:99999" has port 99999, .* 65535/);
});

test("--json without a value, and --output, choose the form of the result", async (t) => {
  const asJson = await place.run(["call", "shout", "text=a", "-t", tools, "-o", "json"]);
  t.like(json(asJson.stdout), { ok: true, result: "A", attempt: 1 });
  const short = await place.run(["call", "shout", "text=a", "-t", tools, "--json"]);
  t.like(json(short.stdout), { ok: true, result: "A" });
  const both = await place.run(["manifest", "-t", tools, "--json", "-o", "text"]);
  t.is(both.code, 2);
  t.regex(both.stderr, /--json contradicts --output text/);
});

test("a tool that ends the process fails alone", async (t) => {
  const { code, stdout } = await place.run(["call", "quit", "-t", tools]);
  t.is(code, 1);
  t.regex(String(json(stdout)["error"]), /process\.exit is refused/);
});

test("a tool's time limit is an outcome, a deadline is a fault", async (t) => {
  const limited = await place.run(["call", "slow", "--timeout-ms", "50", "-t", tools]);
  t.is(limited.code, 1);
  t.like(json(limited.stdout), { ok: false, errorKind: "TIMED_OUT" });
  t.regex(limited.stderr, /\[1\/3\] under way\npartial\n/);
  const late = await place.run(["call", "slow", "--deadline-ms", "300", "--quiet", "-t", tools]);
  t.is(late.code, 1);
  t.is(late.stdout, "");
  t.regex(late.stderr, /toolport: .*\(DEADLINE_EXCEEDED\)\. Allow more time\./);
  t.notRegex(late.stderr, /under way/);
});

test("Ctrl-C cancels the call and the tool is told", async (t) => {
  const child = place.start(["call", "slow", "--tools", tools]);
  const stderr = gather(child.stderr);
  const end = ended(child);
  await until(() => stderr().includes("partial"));
  child.kill("SIGINT");
  t.is(await end, 1);
  t.regex(stderr(), /slow was stopped/);
  t.regex(stderr(), /cancelled/);
});

test("a command that is ended by a signal leaves no folder behind", async (t) => {
  const file = place.write(
    "stuck.ts",
    `import { defineTool, defineTools } from "toolport";
     const select = () => new Promise(() => console.log("stuck"));
     export default defineTools({ tools: [], stages: [{ name: "stuck", select }] });`,
  );
  const child = place.start(["select", "--tools", file]);
  const stderr = gather(child.stderr);
  const end = ended(child);
  await until(() => stderr().includes("stuck"));
  t.true(readdirSync(place.path).some((name) => name.startsWith("toolport-")));
  child.kill("SIGHUP");
  t.is(await end, 1);
  t.false(readdirSync(place.path).some((name) => name.startsWith("toolport-")));
});

test("select says what to offer, and why", async (t) => {
  const text = await place.run(["select", "--role", "reader", "-t", tools, "-o", "text"]);
  t.is(text.code, 0, text.stderr);
  t.regex(text.stdout, /^offer {3}echo\nforce {3}nothing\n\nSTAGE +CAME TO +WHY\n/);
  t.regex(text.stdout, /role_palette +narrowed +drops shout, fail/);
  const forced = json(
    (await place.run(["select", "--force", "shout", "--candidates", "echo,shout", "-t", tools]))
      .stdout,
  );
  t.like(forced, { tools: ["echo", "shout"], forcedChoice: "shout", decided: true });
  const released = json(
    (
      await place.run([
        "select",
        "--force",
        "shout",
        "--messages",
        '[{"role":"tool","name":"shout"}]',
        "-t",
        tools,
      ])
    ).stdout,
  );
  t.is(released["forcedChoice"], null);
});

test("a command that does not say where the tools are is told how", async (t) => {
  const { code, stderr } = await place.run(["manifest"]);
  t.is(code, 2);
  t.regex(stderr, /^toolport: it is not said where the tools are: --tools FILE .* --address/);
});

test("where no sidecar answers the command says so", async (t) => {
  const { code, stderr } = await place.run(["manifest"], { TOOLPORT_ADDRESS: "unix:/no/such" });
  t.is(code, 1);
  t.regex(stderr, /^toolport: no server answers at unix:\/no\/such: .*ENOENT.*Start the sidecar/);
});

test("a wrong command or option is told in one line, with the nearest one", async (t) => {
  const option = await place.run(["serve", "x.ts", "--adress", "unix:/x"]);
  t.is(option.code, 2);
  t.regex(option.stderr, /^toolport: unknown option '--adress' \(Did you mean --address\?\)\n$/);
  const command = await place.run(["manifst"]);
  t.is(command.code, 2);
  t.regex(command.stderr, /^toolport: unknown command 'manifst' \(Did you mean manifest\?\)\n$/);
});

test("help explains each command, and the version is the package's", async (t) => {
  const help = await place.run(["--help"]);
  t.is(help.code, 0);
  for (const command of ["serve", "check", "manifest", "call", "select"]) {
    t.regex(help.stdout, new RegExp(`\\n {2}${command} `));
    const own = await place.run([command, "--help"]);
    t.is(own.code, 0);
    t.regex(own.stdout, new RegExp(`^Usage: toolport ${command} `));
  }
  t.regex(help.stdout, /Exit codes: 0 done, 1 /);
  t.regex((await place.run(["--version"])).stdout, /^\d+\.\d+\.\d+\n$/);
  const none = await place.run([]);
  t.is(none.code, 2);
  t.regex(none.stderr, /Usage: toolport/);
});
