import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../wire/beside.ts";
import { Outbox } from "./outbox.ts";
import type { Served } from "./handlers.ts";
import { served } from "./handlers.ts";

interface Watcher {
  readonly service: string;
  readonly outbox: Outbox<{ status: Status }>;
}

/** Whether the server takes calls, as `grpc.health.v1` tells it. */
export class HealthState {
  readonly #services: ReadonlySet<string>;
  readonly #watchers = new Set<Watcher>();
  #isServing = true;
  #isClosed = false;

  /** @param services the full names to answer for; the empty one stands for the server */
  constructor(services: readonly string[]) {
    this.#services = new Set(["", ...services]);
  }

  /** The service to serve beside the tool port. */
  get served(): Served {
    return served(Health, this.#implementation());
  }

  /** Says NOT_SERVING from now on, to watchers at once. Idempotent. */
  stopServing(): void {
    if (!this.#isServing) return;
    this.#isServing = false;
    for (const { outbox, service } of this.#watchers) {
      outbox.push({ status: this.#statusOf(service) }, 1);
    }
  }

  /** Ends every watch. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const { outbox } of this.#watchers) outbox.end();
    this.#watchers.clear();
  }

  #statusOf(service: string): Status {
    if (!this.#services.has(service)) return Status.SERVICE_UNKNOWN;
    return this.#isServing ? Status.SERVING : Status.NOT_SERVING;
  }

  #implementation(): ServiceImpl<typeof Health> {
    return {
      check: ({ service }) => {
        const status = this.#statusOf(service);
        if (status !== Status.SERVICE_UNKNOWN) return { status };
        throw new ConnectError(`no service ${JSON.stringify(service)} is served`, Code.NotFound);
      },
      list: () => ({
        statuses: Object.fromEntries(
          [...this.#services].map((service) => [service, { status: this.#statusOf(service) }]),
        ),
      }),
      watch: ({ service }, { signal }) => this.#watch(service, signal),
    };
  }

  #watch(service: string, signal: AbortSignal): AsyncIterable<{ status: Status }> {
    const stop = (): void => {
      this.#watchers.delete(watcher);
      outbox.end();
    };
    const outbox = new Outbox<{ status: Status }>({ room() {}, left: stop });
    const watcher: Watcher = { service, outbox };
    outbox.push({ status: this.#statusOf(service) }, 1);
    if (this.#isClosed || signal.aborted) outbox.end();
    else {
      this.#watchers.add(watcher);
      signal.addEventListener("abort", stop, { once: true });
    }
    return outbox;
  }
}
