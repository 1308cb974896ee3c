const busy = new Set<object>();

/**
 * Notes that a thread runs what nobody may be able to interrupt, such as a wait in the system, or
 * that it no longer does.
 */
export function noteBusyThread(thread: object, isBusy: boolean): void {
  if (isBusy) busy.add(thread);
  else busy.delete(thread);
}

/** Whether an ordinary end of the process may have to wait for a thread. */
export function hasBusyThreads(): boolean {
  return busy.size > 0;
}
