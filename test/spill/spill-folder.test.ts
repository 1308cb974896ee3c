import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import test from "ava";
import { createToolPort, defineTool, defineTools } from "../../src/index.ts";
import { silent } from "../../src/internal/log.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { createSpillFolder } from "../../src/spill/spill-folder.ts";
import { ask, executorOf, requestOf } from "../execution/world.ts";

const large = "é".repeat(100_000);
const limits = { largeResults: "spill" as const };

test("a tool that asks for it has its large result put into a file of this user's", async (t) => {
  const folder = createSpillFolder({ log: silent });
  const executor = executorOf(
    { text: { limits, execute: () => large }, json: { limits, execute: () => [large] } },
    { maxResultBytes: 1000, spill: (rendered, request) => folder.spill(rendered, request) },
  );
  const outcome = await ask(executor, requestOf("text")).outcome();
  const [part] = outcome.content;
  const path = fileURLToPath(part?.uri ?? "");
  t.true(outcome.ok && outcome.result.includes(part?.uri ?? "nowhere"));
  t.is(readFileSync(path, "utf8"), large);
  t.is(statSync(path).mode & 0o777, 0o600);
  t.is(statSync(dirname(path)).mode & 0o777, 0o700);
  const json = await ask(executor, requestOf("json")).outcome();
  t.is(json.content[0]?.mimeType, "application/json");
  await folder.close();
  t.false(existsSync(path));
});

test("large bytes go to a file, small ones stay", async (t) => {
  const folder = createSpillFolder({ log: silent });
  const bytes = new Uint8Array(200_000).fill(7);
  const spilled = await folder.spill(
    {
      result: "two parts",
      structuredJson: undefined,
      content: [
        { mimeType: "image/png", data: bytes, name: "a.png" },
        { mimeType: "image/png", data: bytes.subarray(0, 10) },
      ],
    },
    requestOf("t"),
  );
  t.is(spilled.result, "two parts");
  t.deepEqual(new Uint8Array(readFileSync(fileURLToPath(spilled.content[0]?.uri ?? ""))), bytes);
  t.is(spilled.content[0]?.name, "a.png");
  t.is(spilled.content[1]?.data?.byteLength, 10);
  await folder.close();
});

test("the files of a recorded run outlive the process and go with its records", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "toolport-test-"));
  t.teardown(() => rmSync(home, { recursive: true }));
  let now = 0;
  const journal = memoryJournal({ retentionMs: 1000, clock: () => now });
  const options = { folder: join(home, "results"), journal, log: silent };
  const folder = createSpillFolder(options);
  const executor = executorOf(
    { t: { limits, execute: () => large } },
    {
      journal,
      maxResultBytes: 1000,
      spill: (rendered, request) => folder.spill(rendered, request),
    },
  );
  const outcome = await ask(executor, requestOf("t", { runId: "r", callId: "c" })).outcome();
  const alone = await ask(executor, requestOf("t")).outcome();
  const path = fileURLToPath(outcome.content[0]?.uri ?? "");
  await folder.sweep();
  await folder.close();
  t.true(existsSync(path));
  t.false(existsSync(fileURLToPath(alone.content[0]?.uri ?? "")));
  const later = createSpillFolder(options);
  await later.sweep();
  t.true(existsSync(path));
  now = 10_000;
  await journal.prune();
  await later.sweep();
  t.false(existsSync(path));
  await later.close();
});

test("a port made of a definition spills what its message limit does not let through", async (t) => {
  const port = createToolPort(
    defineTools({
      tools: [
        defineTool({ name: "t", description: "d", largeResults: "spill", execute: () => large }),
      ],
    }),
    { limits: { maxMessageBytes: 128 << 10 } },
  );
  const outcome = await ask(port.executor, requestOf("t")).outcome();
  t.is(readFileSync(fileURLToPath(outcome.content[0]?.uri ?? ""), "utf8"), large);
  await port.executor.drain(0);
  t.false(existsSync(fileURLToPath(outcome.content[0]?.uri ?? "")));
});
