// Drives whatever a tool's body turns out to be, to its end.
//
// I1  `settled` is called exactly once, when nothing of the body runs any more.
// I2  A generator's yields are sent at once, the last included; a returned value other than
//     undefined is the result, else the last yield is (null where there was none).
// I3  The next value is asked for only when there is room; once `stop` is called no further value
//     is, and the generator is told to return.

/** What a body is given to report to. */
export interface BodyHooks {
  /** A generator yielded. */
  yielded(value: unknown): void;
  /** Resolves when there is room for more output; undefined where there is room now. */
  room(): Promise<void> | undefined;
  /** The body has ended. */
  settled(end: BodyEnd): void;
}

/** How a body ended. */
export type BodyEnd =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly thrown: unknown };

/** A body under way. */
export interface RunningBody {
  /** Asks a generator to return; anything else has only its signal. Idempotent. */
  stop(): void;
}

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>;

const nothingToStop: RunningBody = { stop() {} };

/** Runs `start` and follows what it returns: a value, a promise, or an iterable of either kind. */
export function runBody(start: () => unknown, hooks: BodyHooks): RunningBody {
  let returned: unknown;
  let iterator: AnyIterator | undefined;
  let isPending = false;
  try {
    returned = start();
    // What was returned may be anything, a proxy or an object whose getters throw included.
    iterator = iteratorOf(returned);
    isPending = !iterator && isThenable(returned);
  } catch (thrown) {
    hooks.settled({ ok: false, thrown });
    return nothingToStop;
  }
  if (iterator) return iterate(iterator, hooks);
  if (isPending) return follow(returned, hooks);
  hooks.settled({ ok: true, value: returned });
  return nothingToStop;
}

function follow(promised: unknown, hooks: BodyHooks): RunningBody {
  let inner = nothingToStop;
  let isStopped = false;
  void settle();

  async function settle(): Promise<void> {
    let value: unknown;
    let made: AnyIterator | undefined;
    try {
      value = await promised;
      // An async function may hand back a generator that it made.
      made = iteratorOf(value);
    } catch (thrown) {
      return hooks.settled({ ok: false, thrown });
    }
    if (!made) return hooks.settled({ ok: true, value });
    inner = iterate(made, hooks);
    if (isStopped) inner.stop();
    return undefined;
  }

  return {
    stop() {
      isStopped = true;
      inner.stop();
    },
  };
}

/**
 * The iterator of a generator, or of any other object that is iterable and nothing else: arrays,
 * maps, sets, typed arrays and strings are values.
 */
function iteratorOf(value: unknown): AnyIterator | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const many = value as Partial<AsyncIterable<unknown> & Iterable<unknown> & Iterator<unknown>>;
  if (typeof many[Symbol.asyncIterator] === "function") return many[Symbol.asyncIterator]?.();
  const isGenerator =
    typeof many[Symbol.iterator] === "function" && typeof many.next === "function";
  return isGenerator ? many[Symbol.iterator]?.() : undefined;
}

/** A generator that was told to return has no outcome of its own. */
function stopped(): BodyEnd {
  return { ok: false, thrown: new DOMException("The generator was told to stop.", "AbortError") };
}

function isThenable(value: unknown): boolean {
  const mayHave = (typeof value === "object" && value !== null) || typeof value === "function";
  return mayHave && typeof (value as { then?: unknown }).then === "function";
}

function iterate(iterator: AnyIterator, hooks: BodyHooks): RunningBody {
  let isStopped = false;
  let closing: Promise<void> | undefined;
  void drive().then((end) => hooks.settled(end));

  async function drive(): Promise<BodyEnd> {
    let last: unknown = null;
    let isOpen = false;
    try {
      for (;;) {
        isOpen = false;
        const step = await iterator.next();
        // Told to stop or not: what it returned by itself is its outcome.
        if (step.done) return { ok: true, value: step.value === undefined ? last : step.value };
        isOpen = true;
        if (isStopped) break;
        last = await step.value;
        hooks.yielded(last);
        await hooks.room();
        if (isStopped) break;
      }
    } catch (thrown) {
      if (isOpen) await close();
      return { ok: false, thrown };
    }
    await close();
    return stopped();
  }

  /** Has the generator run its finally blocks; never rejects. */
  async function close(): Promise<void> {
    closing ??= (async () => {
      try {
        await iterator.return?.();
      } catch {
        // It may have been in the midst of a step, so it is told again after that.
        closing = undefined;
      }
    })();
    await closing;
  }

  return {
    stop() {
      if (isStopped) return;
      isStopped = true;
      // Queued behind a pending next(), so a generator that awaits something still sees it.
      void close();
    },
  };
}
