import { createHash, randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { CallRequest, ContentPart } from "../domain/call.ts";
import type { Rendered } from "../execution/render-result.ts";
import type { Log } from "../internal/log.ts";
import type { Journal } from "../journal/journal.ts";

// I1  A file is whole before its URI is told to anybody, and only this user can read it.
// I2  The files of a run go when the journal knows the run no more; those of calls without a record
//     go when the process ends.

/** What is small enough to stay in the result, in bytes. */
const keptBytes = 64 * 1024;
/** How often the files of forgotten runs are looked for, in milliseconds. */
const sweepEveryMs = 60 * 60_000;
/** Names the run that a folder's files belong to. */
const runFile = "run.json";

/** Where large results go. */
export interface SpillOptions {
  /** A folder of this package's own, made if it is missing; left out: a temporary one. */
  readonly folder?: string | undefined;
  /** Says how long the files of a run are kept; left out: as long as the process lives. */
  readonly journal?: Journal | undefined;
  readonly log: Log;
}

/** A folder for results that are too large to be sent. */
export interface SpillFolder {
  /** Writes what is large in a result to files, and puts their URIs in its place. */
  spill(rendered: Rendered, request: CallRequest): Promise<Rendered>;
  /** Removes the files of runs that the journal has forgotten. */
  sweep(): Promise<void>;
  /** Removes what no record refers to. Idempotent. */
  close(): Promise<void>;
}

/** Makes a spill folder; nothing is written before the first large result. */
export function createSpillFolder(options: SpillOptions): SpillFolder {
  return new Folder(options);
}

class Folder implements SpillFolder {
  readonly #options: SpillOptions;
  readonly #unrecorded = `process-${randomUUID()}`;
  #root: Promise<string> | undefined;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(options: SpillOptions) {
    this.#options = options;
    if (options.folder !== undefined && options.journal) this.#watch();
  }

  async spill(rendered: Rendered, request: CallRequest): Promise<Rendered> {
    const folder = await this.#folderOf(request.runId);
    const content: ContentPart[] = [];
    for (const part of rendered.content) {
      content.push(await spillPart(folder, part));
    }
    if (Buffer.byteLength(rendered.result) <= keptBytes) return { ...rendered, content };
    const isJson = rendered.structuredJson === rendered.result;
    const mimeType = isJson ? "application/json" : "text/plain; charset=utf-8";
    const name = `${request.name}.${isJson ? "json" : "txt"}`;
    const file = await spillPart(folder, { mimeType, data: Buffer.from(rendered.result), name });
    const result = `[${Buffer.byteLength(rendered.result)} bytes of ${mimeType} are in ${file.uri}]`;
    return { result, structuredJson: undefined, content: [file, ...content] };
  }

  async sweep(): Promise<void> {
    const { journal, log } = this.#options;
    if (!journal || !this.#root) return;
    const root = await this.#root;
    for (const name of await readdir(root)) {
      try {
        const text = await readFile(join(root, name, runFile), "utf8");
        const { runId } = JSON.parse(text) as { readonly runId: string };
        if ((await journal.list({ runId, limit: 1 })).length > 0) continue;
        await rm(join(root, name), { recursive: true, force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
        log("warn", "the files of a run could not be swept", { folder: name, error });
      }
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    if (!this.#root) return;
    const root = await this.#root;
    const { folder, journal } = this.#options;
    const isKept = folder !== undefined && journal !== undefined;
    await rm(isKept ? join(root, this.#unrecorded) : root, { recursive: true, force: true });
  }

  async #folderOf(runId: string): Promise<string> {
    const root = await (this.#root ??= this.#open());
    const isRecorded = runId !== "" && this.#options.journal !== undefined;
    const hash = createHash("sha256").update(runId).digest("hex");
    const folder = join(root, isRecorded ? `run-${hash}` : this.#unrecorded);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (isRecorded) {
      await writeFile(join(folder, runFile), JSON.stringify({ runId }), { mode: 0o600 });
    }
    return folder;
  }

  async #open(): Promise<string> {
    const { folder, journal } = this.#options;
    if (folder === undefined) {
      if (journal) this.#watch();
      return mkdtemp(join(tmpdir(), "toolport-results-"));
    }
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    // Left behind by a process that was killed: nobody can be told of them any more.
    for (const name of await readdir(folder)) {
      if (!name.startsWith("process-") || name === this.#unrecorded) continue;
      await rm(join(folder, name), { recursive: true, force: true });
    }
    return folder;
  }

  #watch(): void {
    this.#sweeping = setInterval(() => {
      this.sweep().catch((error: unknown) => {
        this.#options.log("warn", "the folder for large results could not be swept", { error });
      });
    }, sweepEveryMs).unref();
    if (this.#options.folder !== undefined) this.#root ??= this.#open();
    this.#root?.catch(() => {
      this.#root = undefined;
    });
  }
}

/** Writes a part's bytes to a file of its own, unless they are few or elsewhere already. */
async function spillPart(folder: string, part: ContentPart): Promise<ContentPart> {
  if (part.data === undefined || part.data.byteLength <= keptBytes) return part;
  const path = join(folder, randomUUID());
  await writeFile(path, part.data, { mode: 0o600, flush: true });
  const { mimeType, name } = part;
  const spilled = { mimeType, uri: pathToFileURL(path).href, ...(name !== undefined && { name }) };
  return Object.freeze(spilled);
}
