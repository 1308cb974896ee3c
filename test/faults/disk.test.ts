import { spawn } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import test from "ava";

import { connect } from "../../src/client/index.ts";
import { ended, gather, until } from "../cli/lib/run-cli.ts";
import { Ledger } from "./ledger.ts";
import { ask, askAll } from "./load.ts";
import { live, makeWorld } from "./world.ts";

const main = join(import.meta.dirname, "../../dist/src/cli/main.js");
const script = 'mount -t tmpfs -o size=6m tmpfs "$1" || exit 77; shift; exec "$@"';

test("on a full disk nothing starts that can't be recorded, and all goes on when there is room again", async (t) => {
  const world = makeWorld(t);
  const small = join(world.place.path, "small");
  mkdirSync(small);
  const [tools = ""] = world.args;
  const journal = join(small, "calls.db");
  const serve = [main, "serve", tools, "--address", world.address, "--journal", journal];
  const inside = ["sh", "-c", script, "sh", small, process.execPath, ...serve];
  const child = spawn("unshare", ["--map-root-user", "--mount", ...inside], {
    env: { ...world.env, PATH: process.env["PATH"], TMPDIR: world.place.path },
    stdio: "pipe",
  });
  t.teardown(() => child.kill("SIGKILL"));
  const [stdout, stderr] = [gather(child.stdout), gather(child.stderr)];
  const end = ended(child).catch(() => null);
  child.once("error", () => {});
  await Promise.race([until(() => stdout().includes("\n")), end]);
  if (!stdout().includes("\n")) {
    t.log(`skipped: this machine lets no test mount a file system of its own: ${stderr()}`);
    t.pass();
    return;
  }
  // Its disk, as seen from out here.
  const disk = `/proc/${child.pid}/root${small}`;
  writeFileSync(join(disk, "ballast"), Buffer.alloc(3 * 2 ** 20));

  const ledger = new Ledger();
  const client = connect({ address: world.address });
  t.teardown(() => client.close());
  const isFull = (): boolean => (ledger.counts["JOURNAL_UNAVAILABLE"] ?? 0) >= 20;
  const fill = async (): Promise<void> => {
    while (!isFull()) {
      const asked = ledger.make("pay", { bytes: 20_000 });
      await ask(client, ledger, asked, {}, ["JOURNAL_UNAVAILABLE"]);
    }
  };
  await Promise.all(Array.from({ length: 8 }, fill));
  const { open, acknowledged } = ledger;
  t.true(acknowledged.length > 10);
  await askAll(client, ledger, acknowledged);
  t.regex(stderr(), /disk is full/u);

  rmSync(join(disk, "ballast"));
  await askAll(client, ledger, open);
  await ask(client, ledger, ledger.make("put", { ms: 1 }), {}, []);
  t.true(ledger.acknowledged.length > acknowledged.length);

  // The disk goes with its process: a copy of it is what the next life has.
  child.kill("SIGSTOP");
  cpSync(journal.replace(small, disk), world.journal);
  cpSync(`${journal.replace(small, disk)}-wal`, `${world.journal}-wal`);
  child.kill("SIGKILL");
  await end;
  const life = await live(world);
  await askAll(life.client, ledger, ledger.acknowledged);
  t.is(await life.end(), 0);
  const { starts, twice } = ledger.audit(world.starts);
  t.log(
    `${acknowledged.length} acknowledged until it was full, ${starts} starts; ${ledger.summary}`,
  );
  t.is(twice, 0);
  t.deepEqual(ledger.broken, []);
});
