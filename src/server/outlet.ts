/** Where the messages that answer one RPC go, whatever carries them. */
export interface Outlet<T> {
  /** How much waits for the reader, in bytes. */
  readonly bytes: number;
  /**
   * Hands a message to the reader.
   *
   * @param bytes about how much memory it holds
   * @returns false to say: no more until there is room
   */
  push(value: T, bytes: number): boolean;
  /** Ends the stream after what was pushed; with a reason it fails. Idempotent. */
  end(error?: { readonly reason: unknown }): void;
}

/** What a producer wants to know of its reader. */
export interface OutletHooks {
  /** The reader has caught up after {@link Outlet.push} answered false. */
  room(): void;
  /** The reader has gone before the end. */
  left(): void;
}
