// What node:http2 itself costs: reads the body and answers the same bytes with a gRPC status in
// trailers. No library, no message is looked into.
import { constants, createServer } from "node:http2";

import { announce } from "./answer.ts";

const head = { [constants.HTTP2_HEADER_STATUS]: 200, "content-type": "application/grpc" };
const trailers = { "grpc-status": "0" };

const server = createServer();
server.on("stream", (stream) => {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => {
    stream.respond(head, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  });
  // Whoever calls may leave.
  stream.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => announce(server.address()));
