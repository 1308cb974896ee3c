// The story over standard streams: `node story-stdio.ts`, in whatever era it is spoken to, or with
// `newest` in the newer one alone.
import { serveStdio } from "@modelcontextprotocol/server/stdio";

import { createStory, firstTools } from "./story.ts";

const tools = [...firstTools];
let told: (() => void) | undefined;

serveStdio(
  () => {
    const server = createStory(tools, {
      changed: () => told?.(),
      die: () => process.kill(process.pid, "SIGKILL"),
    });
    told = () => void server.sendToolListChanged();
    return server;
  },
  { legacy: process.argv[2] === "newest" ? "reject" : "serve" },
);
