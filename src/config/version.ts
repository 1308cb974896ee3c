import { existsSync, readFileSync } from "node:fs";

/** The version of this package, as its `package.json` says it. */
export const version: string = readVersion();

function readVersion(): string {
  // The folder is two levels up from the sources, three from what is built of them.
  for (const up of ["../../package.json", "../../../package.json"]) {
    const url = new URL(up, import.meta.url);
    if (!existsSync(url)) continue;
    const { name, version: found } = JSON.parse(readFileSync(url, "utf8")) as Record<
      string,
      string
    >;
    if (name === "toolport" && found !== undefined) return found;
  }
  return "0.0.0";
}
