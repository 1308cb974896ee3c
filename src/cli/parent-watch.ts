import { fstatSync } from "node:fs";

const pollMs = 250;

/**
 * Tells when the process that started this one is gone: its end of standard input closes, or this
 * process gets another parent. Standard input counts only where it is a pipe or a socket, since
 * anything else may end for other reasons.
 *
 * @returns what ends the watch
 */
export function watchParent(gone: (why: string) => void): () => void {
  const parent = process.ppid;
  let isOver = false;
  const tell = (why: string): void => {
    if (isOver) return;
    stop();
    gone(why);
  };
  const poll = setInterval(() => {
    if (process.ppid !== parent) tell(`the parent process ${parent} is gone`);
  }, pollMs);
  poll.unref();
  const closed = (): void => tell("standard input has closed");
  const watchesInput = isPipe();
  if (watchesInput) {
    process.stdin.on("end", closed).on("close", closed).on("error", closed);
    process.stdin.resume();
  }
  return stop;

  function stop(): void {
    isOver = true;
    clearInterval(poll);
    if (watchesInput) process.stdin.pause().off("end", closed).off("close", closed);
  }
}

function isPipe(): boolean {
  try {
    const stats = fstatSync(0);
    return stats.isFIFO() || stats.isSocket();
  } catch {
    return false;
  }
}
