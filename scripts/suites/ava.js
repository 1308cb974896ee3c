import { stripVTControlCharacters } from "node:util";
import { lines } from "../lib/process.js";

/** Runs the TypeScript tests. A known failure counts neither as passed nor as failed. */
export async function ava(args) {
  let ticks = 0;
  let known = 0;
  const failures = [];
  const code = await lines("ava", args, {
    onLine(line) {
      console.log(line);
      const plain = stripVTControlCharacters(line);
      if (/^\s+✔ /.test(plain)) ticks += 1;
      known += Number(/^\s+(\d+) known failures?$/.exec(plain)?.[1] ?? 0);
      const failure = /^\s+✘ \[fail\]: (.*)$/.exec(plain);
      if (failure) failures.push(failure[1]);
    },
  });
  return { name: "TypeScript", code, passed: ticks - known, failures };
}
