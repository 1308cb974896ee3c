/** The message has not reached the server, so nothing of it can have run. */
export class NotSent extends Error {
  override readonly name: string = "NotSent";
}
