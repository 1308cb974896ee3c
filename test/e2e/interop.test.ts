// Speaks to a served tools file with tools that know nothing of toolport.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import test from "ava";

const root = fileURLToPath(new URL("../..", import.meta.url));
const grpcurl = join(root, ".build", "bin", "grpcurl");
const healthProbe = join(root, ".build", "bin", "grpc-health-probe");
const curl = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((directory) => join(directory, "curl"))
  .find((path) => existsSync(path));

const directory = await mkdtemp(join(tmpdir(), "toolport-interop-"));
const socket = join(directory, "port.sock");
const tokenFile = join(directory, "token");
const service = "toolport.v1.ToolPortService";
let tcp = "";
const stops: (() => Promise<void>)[] = [];

test.before("the example tools are served on a unix socket and on TCP", async () => {
  await serve(["--address", `unix:${socket}`]);
  tcp = await serve(["--address", "127.0.0.1:0", "--token-file", tokenFile]);
});

test.after.always("the sidecars end", async () => {
  await Promise.all(stops.map((stop) => stop()));
  await rm(directory, { recursive: true, force: true });
});

const withGrpcurl = existsSync(grpcurl) ? test : test.skip;
const withHealthProbe = existsSync(healthProbe) ? test : test.skip;
const withCurl = curl ? test : test.skip;

withGrpcurl("grpcurl lists the services by reflection", async (t) => {
  const { stdout } = await run(grpcurl, [...onSocket(), "list"]);
  const services = stdout.trim().split("\n");
  t.true(services.includes(service));
  t.true(services.includes("grpc.health.v1.Health"));
});

withGrpcurl("grpcurl describes the service and its messages by reflection", async (t) => {
  const { stdout } = await run(grpcurl, [...onSocket(), "describe", service]);
  t.regex(stdout, /rpc Execute \( \.toolport\.v1\.ExecuteRequest \)/u);
  const message = await run(grpcurl, [...onSocket(), "describe", "toolport.v1.ToolCall"]);
  t.regex(message.stdout, /string arguments_json = 3/u);
});

withGrpcurl("grpcurl calls a tool with no other knowledge than reflection", async (t) => {
  const request = {
    request: {
      callId: "call-1",
      name: "convert_currency",
      argumentsJson: '{"amount": 10, "from": "EUR", "to": "USD"}',
    },
  };
  const args = ["-d", JSON.stringify(request), ...onSocket(), `${service}/Execute`];
  const { call } = lastJson(await run(grpcurl, args)) as { call: Record<string, unknown> };
  t.is(call["id"], "call-1");
  t.regex(String(call["result"]), /^10 EUR = [\d.]+ USD$/u);
});

withGrpcurl("over TCP grpcurl gets in with the token and not without it", async (t) => {
  const token = (await readFile(tokenFile, "utf8")).trim();
  const authorised = ["-H", `authorization: Bearer ${token}`];
  const { digest } = lastJson(
    await run(grpcurl, ["-plaintext", ...authorised, tcp, `${service}/Manifest`]),
  ) as { digest: string };
  t.regex(digest, /^sha256:[0-9a-f]{64}$/u);
  const refused = await t.throwsAsync(run(grpcurl, ["-plaintext", tcp, `${service}/Manifest`]));
  t.regex(refused?.message ?? "", /Unauthenticated/u);
});

withHealthProbe("grpc-health-probe finds both sidecars and the service SERVING", async (t) => {
  for (const address of [`unix:${socket}`, tcp]) {
    const { stderr } = await run(healthProbe, [`-addr=${address}`, `-service=${service}`]);
    t.regex(stderr, /SERVING/u);
    await t.notThrowsAsync(run(healthProbe, [`-addr=${address}`]));
  }
});

withCurl("a POST of Connect JSON by curl is answered in JSON", async (t) => {
  const request = { request: { callId: "call-2", name: "delete_everything" }, reason: "no" };
  const { stdout } = await run(curl ?? "", [
    "--silent",
    "--show-error",
    "--fail",
    "--unix-socket",
    socket,
    "--header",
    "content-type: application/json",
    "--data",
    JSON.stringify(request),
    `http://localhost/${service}/Refuse`,
  ]);
  const { call } = JSON.parse(stdout) as { call: unknown };
  t.like(call, { id: "call-2", error: "no", errorKind: "ERROR_KIND_REFUSED" });
});

function onSocket(): string[] {
  return ["-plaintext", "-unix", socket];
}

async function run(
  command: string,
  args: readonly string[],
): Promise<{ stdout: string; stderr: string }> {
  return await promisify(execFile)(command, args, { timeout: 60_000 });
}

function lastJson({ stdout }: { stdout: string }): unknown {
  const documents = stdout.trim().split(/^(?=\{)/mu);
  return JSON.parse(documents.at(-1) ?? "");
}

/** Serves the example tools; returns the address once they are served. */
async function serve(args: readonly string[]): Promise<string> {
  const child = spawn(
    process.execPath,
    [join(root, "dist", "src", "cli", "main.js"), "serve", "examples/tools.ts", ...args],
    { cwd: root, stdio: ["ignore", "pipe", "inherit"] },
  );
  const exited = once(child, "exit");
  stops.push(async () => {
    child.kill("SIGTERM");
    await exited;
  });
  for await (const line of createInterface({ input: child.stdout })) {
    return (JSON.parse(line) as { address: string }).address;
  }
  throw new Error("the sidecar ended before it was ready");
}
