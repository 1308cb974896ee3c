import { connect, createServer, type Socket } from "node:net";

/** A wire to a port that can be cut. */
export interface Wire {
  /** Where to connect to instead. */
  readonly address: string;
  /** Cuts every connection over it, and takes no more. */
  cut(): void;
}

/** Lays a wire to a port of this machine. */
export async function layWire(port: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => cutBoth());
    }
    const cutBoth = (): void => {
      near.destroy();
      far.destroy();
    };
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const bound = server.address();
  if (typeof bound !== "object" || bound === null) throw new TypeError("it has no port");
  return {
    address: `127.0.0.1:${bound.port}`,
    cut() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
