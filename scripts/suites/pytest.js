import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { lines } from "../lib/process.js";
import { python, root } from "../lib/run.js";

/** Runs the Python client's tests. */
export async function pytest(args) {
  const report = join(root, ".build", "pytest.xml");
  mkdirSync(join(root, ".build"), { recursive: true });
  rmSync(report, { force: true });
  const code = await lines(
    python,
    ["-m", "pytest", "--quiet", `--junitxml=${report}`, "clients/python", ...args],
    { onLine: (line) => console.log(line) },
  );
  return { name: "Python", code, ...count(read(report)) };
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function count(xml) {
  const failures = [];
  let passed = 0;
  for (const [, attributes, body = ""] of xml.matchAll(
    /<testcase ([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs,
  )) {
    if (/<(failure|error)\b/.test(body)) failures.push(title(attributes));
    else if (!/<skipped\b/.test(body)) passed += 1;
  }
  return { passed, failures };
}

function title(attributes) {
  const value = (name) => new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";
  return `${value("classname")} › ${value("name")}`;
}
