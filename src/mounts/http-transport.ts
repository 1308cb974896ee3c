import type {
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";

import { after } from "../internal/timers.ts";
import { createHttpFetch, type HttpFetch } from "./http-fetch.ts";
import type { MountTarget } from "./mcp.ts";
import type { Sdk } from "./sdk.ts";
import type { Tap } from "./tap.ts";

/** How long the server may take to be told that its session has ended, in milliseconds. */
const goodbyeMs = 300;

/** Streamable HTTP, as the SDK speaks it, that tells of a request whose answer can't come any more. */
export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly hasPerRequestStream = true;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #http: HttpFetch;
  readonly #tap: Tap;
  #isClosed = false;

  constructor(sdk: Sdk, target: Extract<MountTarget, { kind: "http" }>, tap: Tap) {
    this.#tap = tap;
    this.#http = createHttpFetch((text) => tap.text(text));
    this.#inner = new sdk.StreamableHTTPClientTransport(new URL(target.url), {
      fetch: this.#http.fetch,
      requestInit: { headers: { ...target.headers } },
      // A stream that the server can resume is resumed at once or not at all.
      reconnectionOptions: {
        initialReconnectionDelay: 100,
        reconnectionDelayGrowFactor: 2,
        maxReconnectionDelay: 1000,
        maxRetries: 4,
      },
    });
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message) => this.#receive(message);
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => this.onclose?.();
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    this.#tap.outgoing(message);
    const { requestSignal, headers, resumptionToken, onresumptiontoken } = options;
    await this.#inner.send(message, {
      ...(requestSignal && { requestSignal }),
      ...(headers && { headers }),
      ...(resumptionToken !== undefined && { resumptionToken }),
      ...(onresumptiontoken && { onresumptiontoken }),
      onRequestStreamEnd: () => {
        options.onRequestStreamEnd?.();
        this.#tap.unanswerable(message);
      },
    });
  }

  /** Ends the session, if there is one. At most a little over 0.3 s. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#inner.sessionId !== undefined) {
      const late = Promise.withResolvers<void>();
      const timer = after(goodbyeMs, late.resolve);
      await Promise.race([this.#inner.terminateSession().catch(() => {}), late.promise]);
      timer.stop();
    }
    await this.#inner.close();
    this.#http.close();
  }

  #receive(message: JSONRPCMessage): void {
    const passed = this.#tap.incoming(message);
    if (passed) this.onmessage?.(passed);
  }
}
