import { AsyncLocalStorage } from "node:async_hooks";

const storage = new AsyncLocalStorage<string>();

/** Runs a tool's body, so that whatever it starts can be told to be that tool's. */
export function runInTool<T>(name: string, body: () => T): T {
  return storage.run(name, body);
}

/** The name of the tool whose body, timer or callback is running; undefined outside of tools. */
export function currentTool(): string | undefined {
  return storage.getStore();
}
