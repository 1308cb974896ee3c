import { stripVTControlCharacters } from "node:util";
import { lines } from "../lib/process.js";

/** Runs the TypeScript tests. */
export async function ava(args) {
  let passed = 0;
  const failures = [];
  const code = await lines("ava", args, {
    onLine(line) {
      console.log(line);
      const plain = stripVTControlCharacters(line);
      passed += Number(/^\s+(\d+) tests? passed$/.exec(plain)?.[1] ?? 0);
      const failure = /^\s+✘ \[fail\]: (.*)$/.exec(plain);
      if (failure) failures.push(failure[1]);
    },
  });
  return { name: "TypeScript", code, passed, failures };
}
