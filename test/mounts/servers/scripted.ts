// A server of the older era, without any library, that says what its script says, well-formed or not:
//
//     node scripted.ts '{"pages": [{"tools": [...]}], "answers": {"name": {...}}}'
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** What a scripted server does. */
export interface Script {
  readonly name?: string;
  /** The pages of its list, in order; each after the first is asked for by its position. */
  readonly pages?: readonly { readonly tools: readonly unknown[]; readonly nextCursor?: string }[];
  /** Its answers by the names of tools: a result, or an error of the protocol. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** In its answers, texts that stand for so many bytes of 0x89 as base64. */
  readonly fill?: Readonly<Record<string, number>>;
  /** What it prints on standard output before anything else, and before each answer. */
  readonly noise?: { readonly first?: string; readonly each?: string };
  /** What it prints on standard error at first. */
  readonly stderr?: string;
  /** How long it takes to start, in milliseconds. */
  readonly startMs?: number;
  /** What makes it end with `exitCode`: its start, the first question, or the handshake. */
  readonly endsAt?: "start" | "discover" | "initialize";
  readonly exitCode?: number;
  /** A file that is given a line for each start, call and cancellation. */
  readonly log?: string;
  /** A file with the number of times that it still ends at `endsAt`; without one it does so always. */
  readonly left?: string;
  /** It does not end when its input does, nor by SIGTERM. */
  readonly isStubborn?: boolean;
  /** It answers nothing that comes before the handshake. */
  readonly isSilentBefore?: boolean;
}

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const script = JSON.parse(process.argv[2] ?? "{}") as Script;
const { pages = [{ tools: [] }], answers = {} } = script;

function note(line: string): void {
  if (script.log !== undefined) appendFileSync(script.log, `${line}\n`);
}

function endAt(place: Script["endsAt"]): void {
  if (script.endsAt !== place) return;
  if (script.left !== undefined) {
    const left = Number(readFileSync(script.left, "utf8"));
    if (left === 0) return;
    writeFileSync(script.left, String(left - 1));
  }
  process.exit(script.exitCode ?? 1);
}

function say(message: object): void {
  if (script.noise?.each !== undefined) process.stdout.write(`${script.noise.each}\n`);
  let text = JSON.stringify({ jsonrpc: "2.0", ...message });
  for (const [placeholder, bytes] of Object.entries(script.fill ?? {})) {
    text = text.replace(placeholder, () => Buffer.alloc(bytes, 0x89).toString("base64"));
  }
  process.stdout.write(`${text}\n`);
}

function receive(text: string): void {
  const { id, method, params = {} } = JSON.parse(text) as Message;
  switch (method) {
    case "server/discover":
      endAt("discover");
      if (!script.isSilentBefore) say({ id, error: { code: -32_601, message: "no such method" } });
      return;
    case "initialize":
      endAt("initialize");
      return say({
        id,
        result: {
          protocolVersion: params["protocolVersion"],
          capabilities: { tools: {} },
          serverInfo: { name: script.name ?? "scripted", version: "1" },
        },
      });
    case "tools/list":
      return say({ id, result: pages[Number(params["cursor"] ?? 0)] });
    case "tools/call":
      note(text);
      return answer(id, params);
    case "notifications/cancelled":
      return note(text);
    default:
      return undefined;
  }
}

function answer(id: Message["id"], params: Readonly<Record<string, unknown>>): void {
  const said = answers[String(params["name"])];
  switch (said) {
    case "nothing":
      return;
    case "die":
      process.kill(process.pid, "SIGKILL");
      return;
    case "exit":
      process.exit(0);
      return;
    case "pid":
      return say({ id, result: { content: [{ type: "text", text: String(process.pid) }] } });
    case "env":
      return say({
        id,
        result: { content: [{ type: "text", text: JSON.stringify(process.env) }] },
      });
    case undefined:
      return say({
        id,
        error: { code: -32_602, message: `Unknown tool: ${String(params["name"])}` },
      });
    default:
      break;
  }
  if (typeof said === "string") process.stdout.write(`${said.replaceAll("$id", String(id))}\n`);
  else if (said !== null && typeof said === "object" && "error" in said) say({ id, ...said });
  else say({ id, result: said });
}

note(`start ${process.pid}`);
if (script.noise?.first !== undefined) process.stdout.write(`${script.noise.first}\n`);
if (script.stderr !== undefined) process.stderr.write(`${script.stderr}\n`);
endAt("start");
if (script.isStubborn) {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1000);
}
setTimeout(() => {
  createInterface({ input: process.stdin }).on("line", receive);
}, script.startMs ?? 0);
