import test from "ava";

import { defineTools } from "../../src/define-tools.ts";
import { mcp } from "../../src/mounts/mcp.ts";
import { createToolPort } from "../../src/port.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { ErrorKind, ManifestFormat } from "../../src/wire/v1.ts";
import { isRunning, linesOf, folder, listed, scripted, serveMounts, story } from "./world.ts";

const said = (text: string): object => ({ content: [{ type: "text", text }] });

test("B16: all pages of a server's list are mounted; an empty one does not end it", async (t) => {
  const { names, call } = await serveMounts(t, [
    scripted({
      pages: [
        { tools: [listed("t1"), listed("t2")], nextCursor: "1" },
        { tools: [], nextCursor: "2" },
        { tools: [listed("t3")] },
      ],
      answers: { t3: said("three") },
    }),
  ]);
  t.deepEqual(await names(), ["t1", "t2", "t3"]);
  t.is((await call("t3")).result, "three");
});

test("a list that leads back to a page that was seen ends there, with a warning", async (t) => {
  const { port, names } = await serveMounts(t, [
    scripted({
      name: "circle",
      pages: [
        { tools: [listed("a")], nextCursor: "1" },
        { tools: [listed("b")], nextCursor: "1" },
      ],
    }),
  ]);
  t.deepEqual(await names(), ["a", "b"]);
  t.deepEqual(port.warnings, [
    'MCP server "circle": its list of tools has no end: the cursor "1" came twice',
  ]);
});

test("B15: a tool whose schema can't be read is mounted open, and the good ones as they are", async (t) => {
  const { port, names, call } = await serveMounts(t, [
    scripted({
      name: "crm",
      pages: [
        {
          tools: [
            listed("good", { inputSchema: { type: "object", required: ["a"] } }),
            listed("text", { inputSchema: { type: "string" } }),
            listed("number", { inputSchema: 42 }),
            listed("none", { inputSchema: undefined }),
            listed("broken", { inputSchema: { type: "object", properties: { a: { type: 7 } } } }),
            { name: "" },
            "no tool",
          ],
        },
      ],
      answers: { number: said("42"), broken: said("mended") },
    }),
  ]);
  t.deepEqual(await names(), ["good", "text", "number", "none", "broken"]);
  t.is((await call("number", '{"any":1}')).result, "42");
  t.is((await call("broken", '{"a":"b"}')).result, "mended");
  t.is((await call("good")).errorKind, ErrorKind.INVALID_ARGUMENTS);
  for (const name of ["text", "number", "none", "broken"]) {
    const about = port.warnings.filter((warning) => warning.includes(`'${name}'`));
    t.is(about.length, 1, name);
    t.regex(about[0] ?? "", /^MCP server "crm": tool '.*': its arguments are not checked/u);
    const schema = port.registry.get(name)?.descriptor.inputSchema;
    t.like(schema, { type: "object", additionalProperties: true });
  }
  t.is(port.warnings.filter((warning) => /position [56] of its list/u.test(warning)).length, 2);
});

for (const $schema of [
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
  "https://example.com/a-dialect-of-our-own",
  undefined,
]) {
  test(`B11: a mounted tool whose schema is of ${$schema ?? "no stated draft"} is checked and called`, async (t) => {
    const { call } = await serveMounts(t, [
      scripted({
        pages: [
          {
            tools: [
              listed("fetch", {
                inputSchema: {
                  ...($schema !== undefined && { $schema }),
                  type: "object",
                  properties: { url: { type: "string" } },
                  required: ["url"],
                },
              }),
            ],
          },
        ],
        answers: { fetch: said("fetched") },
      }),
    ]);
    t.is((await call("fetch", '{"url":"x"}')).result, "fetched");
    const missing = await call("fetch");
    t.is(missing.errorKind, ErrorKind.INVALID_ARGUMENTS);
    t.regex(missing.error ?? "", /url/u);
  });
}

test("B12: the schema that a server gives is the one in the manifest and the one that validates", async (t) => {
  const inputSchema = {
    type: "object",
    properties: { mode: { const: "fast" }, n: { type: "integer", minimum: 1 } },
    required: ["mode", "n"],
    allOf: [
      {
        if: { properties: { mode: { const: "fast" } } },
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        then: { properties: { n: { maximum: 5 } } },
      },
    ],
  };
  const { port, call } = await serveMounts(t, [
    scripted({
      pages: [{ tools: [listed("run", { inputSchema })] }],
      answers: { run: said("ran") },
    }),
  ]);
  t.deepEqual(port.registry.get("run")?.descriptor.inputSchema as unknown, inputSchema);
  t.is((await call("run", '{"mode":"fast","n":50}')).errorKind, ErrorKind.INVALID_ARGUMENTS);
  t.is((await call("run", '{"mode":"fast","n":5}')).result, "ran");
});

test("B65: names that providers refuse are listed and called as they are, and mapped for a provider", async (t) => {
  const odd = ["calendar.addEvent", "files/list", "my tool", "n".repeat(90)];
  const { names, call, client } = await serveMounts(t, [
    scripted({
      pages: [{ tools: odd.map((name) => listed(name)) }],
      answers: Object.fromEntries(odd.map((name) => [name, said(name)])),
    }),
  ]);
  t.deepEqual(await names(), odd);
  for (const name of odd) t.is((await call(name)).result, name);
  const { providerNames } = await client.manifest({ format: ManifestFormat.OPENAI_CHAT });
  t.deepEqual(Object.values(providerNames), odd);
  for (const name of Object.keys(providerNames)) t.regex(name, /^[\w-]{1,64}$/u);
});

test("B66: a name that two servers, or a server and the adopter, give is refused, naming both", async (t) => {
  const mail = (name: string, prefix?: string) =>
    scripted(
      { name, pages: [{ tools: [listed("send_mail")] }], answers: { send_mail: said(name) } },
      prefix === undefined ? {} : { prefix },
    );
  const between = await t.throwsAsync(serveMounts(t, [mail("a"), mail("b")]));
  t.is(
    between?.message,
    "capability 'b' contributed a tool named 'send_mail', which is already registered by capability 'a'.",
  );
  const own = defineTool({ name: "send_mail", description: "Own.", execute: () => "own" });
  const withOwn = await t.throwsAsync(serveMounts(t, [mail("a")], { tools: [own] }));
  t.regex(withOwn?.message ?? "", /'a'.*'send_mail'.*a tool passed to defineTools/u);
  const { names, call } = await serveMounts(t, [mail("a", "a_"), mail("b", "b.")], {
    tools: [own],
  });
  t.deepEqual(await names(), ["send_mail", "a_send_mail", "b.send_mail"]);
  t.is((await call("b.send_mail")).result, "b");
  t.is((await call("send_mail")).result, "own");
});

test("B67: names that differ only in writing are different tools", async (t) => {
  const alike = ["list-files", "list_files", "List_Files"];
  const { names, call } = await serveMounts(t, [
    scripted({
      pages: [{ tools: alike.map((name) => listed(name)) }],
      answers: Object.fromEntries(alike.map((name) => [name, said(name)])),
    }),
  ]);
  t.deepEqual(await names(), alike);
  for (const name of alike) t.is((await call(name)).result, name);
});

test("B87: the set is built only once a slow server has listed its tools", async (t) => {
  const { names } = await serveMounts(t, [
    scripted({ startMs: 1000, pages: [{ tools: [listed("late")] }] }),
    scripted({ pages: [{ tools: [listed("early")] }] }),
  ]);
  t.deepEqual(await names(), ["late", "early"]);
});

test("what a server says of its tools is in the descriptors, and what it leaves open stays so", async (t) => {
  const outputSchema = { type: "object", properties: { n: { type: "integer" } } };
  const { port } = await serveMounts(t, [
    scripted(
      {
        pages: [
          {
            tools: [
              listed("stated", {
                title: "Not needed",
                description: "Says it all.\nAnd more.",
                outputSchema,
                annotations: {
                  readOnlyHint: true,
                  destructiveHint: false,
                  idempotentHint: true,
                  openWorldHint: false,
                },
              }),
              listed("open", {
                description: undefined,
                title: "Only a title",
                annotations: { readOnlyHint: "yes" },
              }),
            ],
          },
        ],
      },
      { name: "shop" },
    ),
  ]);
  const [stated, open] = port.registry.tools.map(({ descriptor }) => descriptor);
  t.like(stated, {
    name: "stated",
    summary: "Says it all.",
    readOnly: true,
    destructive: false,
    idempotent: true,
    openWorld: false,
    capability: "shop",
  });
  t.deepEqual(stated?.outputSchema as unknown, outputSchema);
  t.like(open, {
    description: "Only a title",
    readOnly: null,
    destructive: null,
    idempotent: false,
    openWorld: null,
    outputSchema: null,
  });
});

test("the same servers make the same digest", async (t) => {
  const [one, other] = await Promise.all([serveMounts(t, [story()]), serveMounts(t, [story()])]);
  t.is(one.port.registry.digest, other.port.registry.digest);
  t.is(one.port.registry.get("echo")?.descriptor.capability, "story");
});

test("a server that ends at once is a mistake, told with its last words", async (t) => {
  const error = await t.throwsAsync(
    serveMounts(t, [
      scripted({ endsAt: "start", exitCode: 3, stderr: "no licence\nfound" }, { name: "crm" }),
    ]),
  );
  t.like(error, { code: "CONFIGURATION" });
  t.regex(
    error?.message ?? "",
    /^the MCP server "crm" \(.*node.*\) can't be mounted: it ended with exit code 3; its last words on stderr: no licence ⏎ found$/u,
  );
});

test("a server that is not there, or says nothing, is a mistake that names it", async (t) => {
  const missing = await t.throwsAsync(
    serveMounts(t, [mcp({ name: "crm", command: "there-is-no-such-program" })]),
  );
  t.is(
    missing?.message,
    'the MCP server "crm" (there-is-no-such-program) can\'t be mounted: it could not be started: there is no program "there-is-no-such-program"',
  );
  const mute = await t.throwsAsync(
    serveMounts(t, [
      mcp({
        name: "mute",
        command: process.execPath,
        args: ["-e", "process.stdin.resume()"],
        listTimeoutMs: 900,
      }),
    ]),
  );
  t.regex(mute?.message ?? "", /"mute" .* can't be mounted: it did not answer within 900 ms/u);
});

test("where one server can't be mounted, none is left running", async (t) => {
  const log = `${folder(t)}/log`;
  await t.throwsAsync(
    serveMounts(t, [scripted({ log, startMs: 300 }), scripted({ endsAt: "start" })]),
  );
  const pids = linesOf(log).map((line) => Number(line.replace("start ", "")));
  t.true(pids.length > 0);
  t.deepEqual(pids.filter(isRunning), []);
});

test("a set with mounts says how it is built", async (t) => {
  t.throws(() => createToolPort(defineTools({ capabilities: [story()] })), {
    code: "CONFIGURATION",
    message: /capabilities\[0\] mounts an MCP server.*await openToolPort/u,
  });
});
