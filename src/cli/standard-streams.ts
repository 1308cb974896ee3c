import type { ProcessGuard } from "../server/process-guard.ts";
import type { Screen } from "./terminal.ts";

/** Standard output as a screen, for the command's own results. */
export function standardOutput(guard: ProcessGuard): Screen {
  const { stdout } = process;
  return {
    write: (text: string) => guard.writeStdout(text),
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
  // Its reader may be gone. Nobody is left to tell, and a log line about it would fail in its turn,
  // and so on without end.
  stderr.on("error", () => {});
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
  const waiting = [process.stdout, process.stderr].filter(
    ({ writableLength }) => writableLength > 0,
  );
  await Promise.all(
    waiting.map(
      (stream) =>
        new Promise<void>((resolve) => {
          stream.once("drain", resolve).once("error", () => resolve());
        }),
    ),
  );
}
