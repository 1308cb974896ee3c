import type { Screen } from "./terminal.ts";

/**
 * Takes standard output for the command's own results: from now on, whatever else this process
 * writes to it, a tool's `console.log` included, goes to standard error.
 *
 * @returns the way to the real standard output
 */
export function claimStandardOutput(): Screen {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  const diverted: typeof stdout.write = (...args: unknown[]) =>
    (stderr.write as (...given: unknown[]) => boolean)(...args);
  stdout.write = diverted;
  return {
    write: (text: string) => write(text),
    isTTY: stdout.isTTY,
    get columns() {
      return stdout.columns;
    },
    hasColors: () => stdout.isTTY && stdout.hasColors(),
  };
}

/** Standard error as a screen. */
export function standardError(): Screen {
  const { stderr } = process;
  return {
    write: (text: string) => stderr.write(text),
    isTTY: stderr.isTTY,
    get columns() {
      return stderr.columns;
    },
    hasColors: () => stderr.isTTY && stderr.hasColors(),
  };
}

/** Waits until both standard streams have handed on what was written. */
export async function flushStandardStreams(): Promise<void> {
  const streams = [process.stdout, process.stderr];
  await Promise.all(
    streams.map((stream) =>
      stream.writableLength === 0
        ? undefined
        : new Promise<void>((resolve) => {
            stream.once("drain", resolve).once("error", () => resolve());
          }),
    ),
  );
}
