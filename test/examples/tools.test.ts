import { createServer } from "node:http";
import { join } from "node:path";

import anyTest, { type TestFn } from "ava";

import type { JsonValue } from "../../src/index.ts";
import { connect, type ExecutionEvent, type ToolPortClient } from "../../src/client/index.ts";
import { ErrorKind, type ToolCall } from "../../src/wire/v1.ts";
import { Workplace } from "../cli/lib/run-cli.ts";

const test = anyTest as TestFn<{ client: ToolPortClient }>;
const place = new Workplace();
const tools = join(import.meta.dirname, "../../examples/tools.ts");

test.before(async (t) => {
  const { ready } = await place.serve([tools]);
  t.context.client = connect({ address: ready.address });
});
test.after.always(async (t) => {
  t.context.client.close();
  await place.remove();
});

async function run(
  client: ToolPortClient,
  name: string,
  args: Record<string, unknown> = {},
  runId = "",
): Promise<{ events: ExecutionEvent[]; call: ToolCall }> {
  const execution = client.execute({ name, arguments: args, runId });
  const events: ExecutionEvent[] = [];
  for await (const event of execution) events.push(event);
  return { events, call: await execution.result };
}

const valueOf = (call: ToolCall): Record<string, unknown> =>
  JSON.parse(call.structuredJson ?? "null") as Record<string, unknown>;

test("the manifest lists the tools in order, the capabilities' last, without the hidden one", async (t) => {
  const { tools: listed } = await t.context.client.manifest();
  const mounted = listed.filter(({ capability }) => capability === "handbook-files");
  t.true(mounted.length > 0);
  t.true(mounted.every(({ name }) => name.startsWith("handbook_")));
  t.deepEqual(listed.slice(-mounted.length), mounted);
  t.deepEqual(
    listed
      .slice(0, -mounted.length)
      .map(({ name, capability }) => (capability === "" ? name : `${capability}/${name}`)),
    [
      "search_handbook",
      "query_bookings",
      "read_page",
      "convert_currency",
      "book_crossing",
      "watch_crossing",
      "ask_harbour_master",
      "notes/add_note",
      "notes/list_notes",
    ],
  );
});

test("every tool of a palette exists", async (t) => {
  for (const [role, count] of [
    ["researcher", 6],
    ["clerk", 5],
  ] as const) {
    const { result } = await t.context.client.select({ role });
    t.true(result?.decided);
    t.is(result?.tools.length, count);
    t.is(result?.trace.find(({ stage }) => stage === "role_palette")?.detail, "");
  }
});

test("the handbook is searched with progress, and each match comes as it is found", async (t) => {
  const { events, call } = await run(t.context.client, "search_handbook", { text: "REFUND" });
  const { matches, complete } = valueOf(call) as {
    matches: { page: string; line: number }[];
    complete: boolean;
  };
  t.true(complete);
  t.true(matches.length >= 4);
  t.deepEqual(matches[0], { page: "refunds.md", line: 1, text: "# Refunds and changes" } as never);
  const outputs = events.filter((event) => event.case === "output");
  t.is(outputs.length, matches.length);
  const progress = events.filter((event) => event.case === "progress");
  t.is(progress.at(-1)?.value.done, progress.at(-1)?.value.total);
});

test("a search stops after as many matches as asked for", async (t) => {
  const { call } = await run(t.context.client, "search_handbook", { text: "the", maxMatches: 1 });
  t.like(valueOf(call), { complete: false });
});

test("the database answers with values bound, and can't be changed", async (t) => {
  const { client } = t.context;
  const asked = await run(client, "query_bookings", {
    sql: "SELECT passenger FROM bookings WHERE seats = ? ORDER BY passenger",
    values: [4],
  });
  t.deepEqual(valueOf(asked.call), {
    rows: [{ passenger: "Mei Tanaka" }, { passenger: "Mei Tanaka" }],
    complete: true,
  });
  const counted = await run(client, "query_bookings", { sql: "SELECT count(*) AS n FROM ports" });
  t.deepEqual(valueOf(counted.call)["rows"], [{ n: 3 }]);
});

for (const sql of [
  "DELETE FROM bookings",
  "ATTACH DATABASE '/etc/passwd' AS other",
  "PRAGMA writable_schema = 1",
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
  "SELECT load_extension('anything')",
]) {
  test(`the database refuses ${sql.slice(0, 40)}`, async (t) => {
    const { call } = await run(t.context.client, "query_bookings", { sql });
    t.is(
      call.error,
      "Error: only a SELECT that is not recursive is allowed, with common functions",
    );
  });
}

test("a page of the site is read as a reader sees it", async (t) => {
  const { call } = await run(t.context.client, "read_page", { page: "timetable.html" });
  const page = valueOf(call) as { title: string; text: string; links: unknown[] };
  t.is(page.title, "Timetable – Tidewater Ferries");
  t.regex(page.text, /^Timetable\nBoth ships sail every day/);
  t.regex(page.text, /\nSandhaven 07:30 09:05\n/);
  t.regex(page.text, /\n- Leaves Sandhaven at 09:00, reaches Lowick at 10:10\n/);
  t.notRegex(page.text, /Home|not part of the text|flex|Quay 1/);
  t.deepEqual(page.links, [
    { text: "our fares", url: "fares.html" },
    { text: "conditions of carriage", url: "https://tidewater.example/conditions" },
  ]);
});

test("a page is fetched from this machine, and from nowhere else", async (t) => {
  const server = createServer((request, response) => {
    if (request.url === "/away") {
      response.writeHead(302, { location: "http://example.com/" }).end();
    } else if (request.url === "/data") {
      response.setHeader("content-type", "application/json").end("{}");
    } else {
      response.setHeader("content-type", "text/html").end("<title>T</title><p>Hello");
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as { port: number };
  const read = async (page: string): Promise<ToolCall> =>
    (await run(t.context.client, "read_page", { page })).call;
  const base = `http://127.0.0.1:${port}`;
  t.deepEqual(valueOf(await read(`${base}/`)), { title: "T", text: "Hello", links: [] });
  t.regex((await read(`${base}/data`)).error ?? "", /application\/json, not HTML/);
  t.is((await read(`${base}/away`)).errorKind, ErrorKind.RAISED);
  t.regex(
    (await read("http://example.com/")).error ?? "",
    /is not an http address on this machine/,
  );
  t.regex((await read("../../package.json")).error ?? "", /is not a page of the site/);
  t.regex((await read("file:///etc/passwd")).error ?? "", /is not a page of the site/);
  server.close();
  server.closeAllConnections();
});

test("the LangChain.js tool answers, and its schema is checked", async (t) => {
  const { client } = t.context;
  const good = await run(client, "convert_currency", { amount: 10, from: "EUR", to: "USD" });
  t.is(good.call.result, "10 EUR = 10.80 USD");
  const bad = await run(client, "convert_currency", { amount: -1, from: "EUR", to: "USD" });
  t.is(bad.call.errorKind, ErrorKind.INVALID_ARGUMENTS);
});

test("rules between fields are checked, and the error names the field", async (t) => {
  const { client } = t.context;
  const trip = { passenger: "Ada", from: "Sandhaven", to: "Skerry", outward: "2026-05-02" };
  const booked = await run(client, "book_crossing", { ...trip, back: "2026-05-04", seats: 2 });
  t.like(valueOf(booked.call), { passenger: "Ada", totalCents: 7200 });
  t.regex(String(valueOf(booked.call)["reference"]), /^TW-\d{6}$/);
  const early = await run(client, "book_crossing", { ...trip, back: "2026-05-01" });
  t.is(early.call.errorKind, ErrorKind.INVALID_ARGUMENTS);
  t.regex(early.call.error ?? "", /back.*the return must not be before the outward crossing/);
  const same = await run(client, "book_crossing", { ...trip, to: "Sandhaven" });
  t.regex(same.call.error ?? "", /to.*another port/);
});

test("a crossing is followed to its end, stage by stage", async (t) => {
  const { events, call } = await run(t.context.client, "watch_crossing", {
    ship: "Heron",
    seconds: 0.1,
  });
  t.is(call.result, "Heron: moored");
  t.is(events.filter((event) => event.case === "output").length, 6);
});

test("a crossing that nobody watches any more is left", async (t) => {
  const execution = t.context.client.execute({
    name: "watch_crossing",
    arguments: { ship: "Otter", seconds: 600 },
  });
  for await (const event of execution) {
    if (event.case === "output") break;
  }
  await t.throwsAsync(execution.result, { code: "CANCELLED" });
});

test("the mounted server reads the handbook, and nothing else", async (t) => {
  const { client } = t.context;
  const page = await run(client, "handbook_read_text_file", { path: "refunds.md", head: 1 });
  t.is(page.call.result?.trim(), "# Refunds and changes");
  const outside = await run(client, "handbook_read_text_file", { path: "/etc/passwd" });
  t.regex(outside.call.error ?? "", /Access denied/);
});

test("notes belong to their run", async (t) => {
  const { client } = t.context;
  await run(client, "add_note", { text: "first" }, "run-a");
  await run(client, "add_note", { text: "second" }, "run-a");
  await run(client, "add_note", { text: "other" }, "run-b");
  const listed = await run(client, "list_notes", {}, "run-a");
  t.deepEqual(valueOf(listed.call), {
    notes: [
      { id: 1, text: "first" },
      { id: 2, text: "second" },
    ],
  });
});

test("the harbour master decides through the kernel, and only on a live run", async (t) => {
  const { client } = t.context;
  const asked: unknown[] = [];
  const answers: JsonValue[] = [
    { allowed: true, berth: 2, remark: "mind the dredger" },
    { allowed: false },
    "perhaps",
  ];
  const live = client.run("harbour", {
    hosts: {
      harbour_master(payload) {
        asked.push(payload);
        return answers.shift();
      },
    },
  });
  const call = { name: "ask_harbour_master", arguments: { ship: "Otter", port: "Lowick" } };
  const texts: (string | undefined)[] = [];
  for (let i = 0; i < 3; i++) {
    const { result, error } = await live.execute(call).result;
    texts.push(result ?? error);
  }
  t.deepEqual(texts.slice(0, 2), [
    "Otter may berth at Lowick, berth 2: mind the dredger",
    "Otter may not berth at Lowick.",
  ]);
  t.regex(texts[2] ?? "", /^TypeError: the kernel's harbour_master gave no answer/u);
  t.deepEqual(
    asked,
    Array.from({ length: 3 }, () => call.arguments),
  );
  await live.close();
  await t.throwsAsync(client.execute(call).result, { code: "RUN_REQUIRED" });
});

test("the hidden tool can be called by whoever knows its name", async (t) => {
  const { call } = await run(t.context.client, "sidecar_status");
  t.is(typeof valueOf(call)["residentMiB"], "number");
});
