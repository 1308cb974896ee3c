import { Code, ConnectError } from "@connectrpc/connect";
import test from "ava";
import { bearerTokens } from "../../src/server/authenticate.ts";
import { Health, ServerReflection } from "../../src/wire/beside.ts";
import { clientFor, clientOf, callTool, protocols, startServer } from "./world.ts";

const token = "a-token-that-is-long-enough";

for (const protocol of protocols) {
  test(`without the token nothing is told and nothing runs over ${protocol}`, async (t) => {
    let ran = 0;
    const touch = (): null => {
      ran += 1;
      return null;
    };
    const server = await startServer(
      t,
      { touch: { execute: touch } },
      {
        tokens: [token, "another-token-as-good"],
        selection: { stages: [{ name: "s", select: touch }] },
      },
    );
    for (const authorization of [
      undefined,
      "",
      "Bearer",
      "Bearer wrong",
      `Basic ${token}`,
      `Bearer ${token}x`,
      token,
    ]) {
      const headers = authorization === undefined ? {} : { authorization };
      const client = clientOf(server, protocol, headers);
      const reflection = clientFor(ServerReflection, server, protocol, headers);
      const calls = [
        () => client.manifest({}),
        () => client.select({}),
        () => client.refuse({ request: { callId: "1", name: "touch" } }),
        () => callTool(client, "touch"),
        ...(protocol === "gRPC"
          ? [
              async () => {
                for await (const message of reflection.serverReflectionInfo(nothing()))
                  t.fail(message.$typeName);
              },
              async () => {
                for await (const message of client.run(nothing())) t.fail(message.$typeName);
              },
            ]
          : []),
      ];
      for (const call of calls) {
        const error = ConnectError.from(await t.throwsAsync(call));
        t.is(error.code, Code.Unauthenticated);
        t.notRegex(error.message, /token-that|wrong/u);
      }
    }
    t.is(ran, 0);
    t.is((await clientFor(Health, server, protocol).check({})).status, 1);
    const let_in = clientOf(server, protocol, { authorization: `bearer ${token}` });
    await callTool(let_in, "touch");
    await let_in.select({});
    t.is(ran, 2);
  });
}

test("any other path asks for the token too, whatever method or type it comes with", async (t) => {
  const server = await startServer(t, {}, { tokens: [token] });
  const base = `http://127.0.0.1:${server.port}`;
  const manifest = "/toolport.v1.ToolPortService/Manifest";
  for (const path of ["/", "/mcp", manifest, `${manifest}?encoding=json&message=%7B%7D`]) {
    for (const method of ["GET", "POST", "PUT", "OPTIONS", "DELETE"]) {
      const answer = await fetch(base + path, { method });
      t.is(answer.status, 401, `${method} ${path}`);
    }
  }
});

test("a token is compared whole", (t) => {
  const authenticate = bearerTokens([token]);
  t.is(authenticate(`Bearer ${token}`), "");
  t.throws(() => authenticate(`Bearer ${token.slice(0, -1)}`), { message: /not valid/u });
  t.throws(() => bearerTokens([])("Bearer "), { message: /not valid/u });
});

async function* nothing(): AsyncGenerator<never> {}
