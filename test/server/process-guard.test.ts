import { spawnSync } from "node:child_process";
import test from "ava";

const guard = new URL("../../src/server/process-guard.ts", import.meta.url).href;
const current = new URL("../../src/internal/current-tool.ts", import.meta.url).href;

/** Runs a script in a process of its own, guarded, and gives what it wrote and how it ended. */
function guarded(script: string): {
  readonly out: string;
  readonly err: string;
  readonly code: number | null;
} {
  const program = `
    import { guardProcess } from ${JSON.stringify(guard)};
    import { runInTool } from ${JSON.stringify(current)};
    const tell = (fields) => JSON.stringify([fields.tool, String(fields.error ?? fields.call)]);
    const guard = guardProcess((level, event, fields) => guard.writeStdout(event + " " + tell(fields) + "\\n"));
    ${script}
  `;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", program],
    { encoding: "utf8" },
  );
  return { out: stdout, err: stderr, code: status };
}

test("a throw in a stray timer and a rejection left behind name their tool, and the process goes on", (t) => {
  const { out, code } = guarded(`
    runInTool("stray", () => {
      setTimeout(() => { throw new Error("timer"); }, 1);
      setImmediate(() => process.nextTick(() => { throw null; }));
      void Promise.reject(new Error("left behind"));
    });
    void Promise.reject(new Error("nobody's"));
    setTimeout(() => guard.exit(7), 50);
  `);
  t.is(code, 7);
  t.true(out.includes('stray_error ["stray","Error: timer"]'), out);
  t.true(out.includes('stray_rejection ["stray","Error: left behind"]'), out);
  t.true(out.includes('stray_rejection [null,"Error: nobody\'s"]'), out);
});

for (const call of [
  "process.exit(0)",
  "process.exit()",
  "process.abort()",
  "process.reallyExit(0)",
]) {
  test(`${call} in a tool throws there, and the process goes on`, (t) => {
    const { out, code } = guarded(`
      runInTool("quitter", () => {
        try { ${call}; } catch (error) { guard.writeStdout(error.message + "\\n"); }
      });
      guard.exit(7);
    `);
    t.is(code, 7);
    t.regex(out, /is refused while tools are served; the tool "quitter" must return or throw/u);
  });
}

test("what is written to standard output goes to standard error", (t) => {
  const { out, err, code } = guarded(`
    console.log("logged");
    process.stdout.write("written\\n");
    guard.writeStdout("ready\\n");
  `);
  t.is(code, 0);
  t.is(out, "ready\n");
  t.is(err, "logged\nwritten\n");
});

test("released, everything is as it was", (t) => {
  const { out, code } = guarded(`
    guard.release();
    guard.release();
    console.log("out");
    process.exit(3);
  `);
  t.is(code, 3);
  t.is(out, "out\n");
});
