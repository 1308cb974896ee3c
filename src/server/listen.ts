import { chmodSync, lstatSync, type Stats, unlinkSync } from "node:fs";
import { connect, type Server } from "node:net";
import { dirname } from "node:path";
import { ConfigurationError } from "../errors.ts";
import { type Address, formatAddress } from "./address.ts";

/**
 * Listens at an address; a unix socket is 0600 from its first moment. A socket file that nobody
 * listens at any more is taken over; one that is in use, and any other file, is left alone.
 *
 * @returns the address that is listened at, its port picked
 * @throws ConfigurationError in one sentence
 */
export async function listen(server: Server, address: Address): Promise<Address> {
  if (address.kind === "unix") await clearTheWay(address.path);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("listening", resolve);
  server.once("error", reject);
  try {
    if (address.kind === "unix") listenPrivately(server, address.path);
    else server.listen({ host: address.host, port: address.port });
    await promise;
  } catch (cause) {
    throw describe(cause as NodeJS.ErrnoException, address);
  } finally {
    server.off("listening", resolve);
    server.off("error", reject);
  }
  const bound = server.address();
  if (address.kind === "unix" || typeof bound !== "object" || bound === null) return address;
  return { ...address, port: bound.port };
}

function listenPrivately(server: Server, path: string): void {
  // The socket is bound within `listen`, so nobody can open it before it is private.
  const before = process.umask(0o177);
  try {
    server.listen({ path });
  } finally {
    process.umask(before);
  }
  server.once("listening", () => chmodSync(path, 0o600));
}

/** Removes a socket file whose owner is gone. */
async function clearTheWay(path: string): Promise<void> {
  // Told apart here, since binding calls a missing folder a lack of permission.
  if (!statOf(dirname(path))) throw noFolder(formatAddress({ kind: "unix", path }));
  const found = statOf(path);
  if (!found) return;
  if (!found.isSocket()) {
    throw new ConfigurationError(
      `there is a file at ${path} that is no socket; it was left alone, choose another path`,
    );
  }
  const isLive = await probe(path);
  if (isLive) {
    throw new ConfigurationError(
      `another process is listening at ${path}; end it or choose another path`,
    );
  }
  // Another starter may have taken it over since the probe: remove only what was probed.
  if (statOf(path)?.ino === found.ino) unlinkSync(path);
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw describe(error as NodeJS.ErrnoException, { kind: "unix", path });
  }
}

function probe(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" || error.code === "ENOENT") resolve(false);
      // A full backlog is a sign of life.
      else if (error.code === "EAGAIN") resolve(true);
      else reject(describe(error, { kind: "unix", path }));
    });
  });
}

function noFolder(where: string): ConfigurationError {
  return new ConfigurationError(`the folder of ${where} does not exist; make it first`);
}

function describe(error: NodeJS.ErrnoException, address: Address): Error {
  const where = formatAddress(address);
  const texts: Readonly<Record<string, string>> = {
    EADDRINUSE: `${where} is in use by another process; choose another port, or port 0 to have one picked`,
    EACCES: `no permission to listen at ${where}; choose another address`,
    EADDRNOTAVAIL: `this machine has no address ${where}; choose another host`,
    ENOTFOUND: `the host of ${where} is not known; choose another`,
    ENOTDIR: `the folder of ${where} is no folder; choose another path`,
  };
  const text =
    texts[error.code ?? ""] ?? `cannot listen at ${where}: ${error.code ?? error.message}`;
  return new ConfigurationError(text, { cause: error });
}
