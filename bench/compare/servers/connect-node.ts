// connect-node as it comes. Refuse is the contract's unary method that takes a request and answers a
// call, so it stands in for a plain unary RPC.
import { createServer } from "node:http2";
import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

import { RunResponseSchema, ToolPortService, type ToolRequest } from "../../../src/wire/v1.ts";
import { announce, answerTo } from "./answer.ts";
import { respond } from "./respond.ts";

function routes(router: ConnectRouter): void {
  router.service(ToolPortService, {
    refuse: ({ request }) => ({ call: answerTo(request as ToolRequest) }),
    async *run(requests) {
      for await (const request of requests) yield create(RunResponseSchema, respond(request));
    },
  });
}

const server = createServer(connectNodeAdapter({ routes }));
server.listen(0, "127.0.0.1", () => announce(server.address()));
