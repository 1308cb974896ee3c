import { existsSync } from "node:fs";
import { join } from "node:path";
import { lines } from "../lib/process.js";
import { root } from "../lib/run.js";

/** Vets and tests the Go client, and what else is written in Go. */
export async function go(args) {
  const modules = ["clients/go", "examples", "bench/load-client"]
    .map((path) => join(root, path))
    .filter((path) => existsSync(join(path, "go.mod")));
  let code = 0;
  const tests = new Results();
  for (const cwd of modules) {
    code ||= await lines("go", ["vet", "./..."], { cwd, onLine: (line) => console.log(line) });
    code ||= await lines("go", ["test", "-json", ...args, "./..."], {
      cwd,
      onLine: (line) => tests.take(line),
    });
  }
  return { name: "Go", code, passed: tests.passed(), failures: tests.failures() };
}

/** What the tests came to: a test is counted where it has no parts of its own. */
class Results {
  #outcomes = new Map();
  #output = new Map();

  take(line) {
    const event = parse(line);
    if (!event) return console.log(line);
    const test = `${event.Package ?? ""} › ${event.Test ?? ""}`;
    if (event.Action === "output" || event.Action === "build-output") this.#keep(event, test);
    if (!event.Test || !["pass", "fail", "skip"].includes(event.Action)) return undefined;
    this.#outcomes.set(test, event.Action);
    if (event.Action === "fail") process.stdout.write(this.#output.get(test) ?? "");
    this.#output.delete(test);
    return undefined;
  }

  #keep(event, test) {
    if (!event.Test) process.stdout.write(event.Output);
    else this.#output.set(test, (this.#output.get(test) ?? "") + event.Output);
  }

  passed() {
    return this.#leaves("pass").length;
  }

  failures() {
    return this.#leaves("fail");
  }

  #leaves(outcome) {
    const names = [...this.#outcomes.keys()];
    const parents = new Set(names.flatMap((name) => ancestors(name)));
    return names.filter((name) => this.#outcomes.get(name) === outcome && !parents.has(name));
  }
}

// A subtest's name is its parent's, a slash and its own; the package's path has slashes too.
function ancestors(name) {
  const [of, test] = name.split(" › ");
  const parts = test.split("/");
  return parts.slice(1).map((_, i) => `${of} › ${parts.slice(0, i + 1).join("/")}`);
}

function parse(line) {
  try {
    const event = JSON.parse(line);
    return typeof event?.Action === "string" ? event : undefined;
  } catch {
    return undefined;
  }
}
