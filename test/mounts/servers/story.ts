// A server on the official SDK, for both eras of the protocol.
import { appendFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/server";

/** A tool as it is listed. */
export interface Listed {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: { readonly type: "object"; readonly [key: string]: unknown };
}

const empty = { type: "object" } as const;

/** What a server lists at first. */
export const firstTools: readonly Listed[] = [
  {
    name: "echo",
    description: "Says what it is given.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  },
  { name: "alpha", inputSchema: empty },
  { name: "gamma", inputSchema: empty },
  { name: "steps", description: "Goes on for `ms`, in steps.", inputSchema: empty },
  { name: "sleep", description: "Sleeps for long.", inputSchema: empty },
  { name: "change", description: "Changes the tools.", inputSchema: empty },
  { name: "die", inputSchema: empty },
];

/** Who is to be told that the tools have changed, and how the process ends. */
export interface StoryHooks {
  changed(): void;
  die(): void;
}

/**
 * Makes an instance. `STORY_LOG` names a file that is told what becomes of `sleep`.
 *
 * @param tools what it lists; `change` changes it, for all that share it
 */
export function createStory(tools: Listed[], hooks: StoryHooks): Server {
  const server = new Server(
    { name: "story", version: "1" },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler("tools/list", () => ({ tools: [...tools] }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const text = (said: string): { content: [{ type: "text"; text: string }] } => ({
      content: [{ type: "text", text: said }],
    });
    const { name, arguments: args = {}, _meta } = params;
    switch (name) {
      case "echo":
        return text(String(args["text"]));
      case "steps": {
        const token = _meta?.progressToken;
        for (const progress of [1, 2, 3]) {
          await wait(Number(args["ms"] ?? 30) / 3);
          if (token === undefined) continue;
          await mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken: token, progress, total: 3, message: `step ${progress}` },
          });
        }
        return text("done");
      }
      case "sleep":
        note("sleeping");
        try {
          await wait(30_000, undefined, { signal: mcpReq.signal });
        } catch (error) {
          note("woken");
          throw error;
        }
        return text("slept");
      case "change":
        tools.splice(
          0,
          Infinity,
          ...firstTools.filter((tool) => !["alpha", "gamma"].includes(tool.name)),
          { name: "gamma", description: "Another.", inputSchema: empty },
          { name: "beta", inputSchema: empty },
        );
        hooks.changed();
        return text("changed");
      case "die":
        hooks.die();
        return text("still here");
      default:
        throw new Error(`there is no ${name}`);
    }
  });
  return server;
}

function note(line: string): void {
  const log = process.env["STORY_LOG"];
  if (log !== undefined) appendFileSync(log, `${line}\n`);
}
