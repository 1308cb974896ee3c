import test from "ava";
import fc from "fast-check";

import type { JsonObject } from "../../src/domain/json.ts";
import { SettledFailure } from "../../src/execution/describe-error.ts";
import { renderAtOnce, type Rendered } from "../../src/execution/render-result.ts";
import { renderAnswer } from "../../src/mounts/render-answer.ts";
import { ErrorKind } from "../../src/wire/v1.ts";
import { folder, linesOf, listed, scripted, serveMounts } from "./world.ts";

const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString("base64");

function render(answer: JsonObject): Rendered {
  return renderAtOnce("tool", renderAnswer("crm", answer)) as Rendered;
}

test("B38: every content item is kept in order, and none is an empty text", async (t) => {
  const image = { type: "image", mimeType: "image/png", data: base64("pixels") };
  const { call } = await serveMounts(t, [
    scripted({
      pages: [{ tools: ["two", "none", "image_first"].map((name) => listed(name)) }],
      answers: {
        two: {
          content: [
            { type: "text", text: "part one" },
            { type: "text", text: "part two" },
          ],
        },
        none: { content: [] },
        image_first: { content: [image, { type: "text", text: "and a text" }] },
      },
    }),
  ]);
  t.is((await call("two")).result, "part one\npart two");
  const none = await call("none");
  t.is(none.result, "");
  t.is(none.error, undefined);
  const first = await call("image_first");
  t.is(first.result, "[image/png, 6 bytes]\nand a text");
  t.is(first.content.length, 1);
});

test("B40: texts in files are read, and other files are told with address, type and size", async (t) => {
  const resource = (rest: object): object => ({ type: "resource", resource: rest });
  const { call } = await serveMounts(t, [
    scripted({
      pages: [{ tools: [listed("files")] }],
      answers: {
        files: {
          content: [
            resource({ uri: "file:///a.txt", mimeType: "text/plain", blob: base64("héllo") }),
            resource({ uri: "file:///b.txt", mimeType: "text/plain", text: "as text" }),
            resource({ uri: "file:///c.json", mimeType: "application/json", blob: base64("{}") }),
            resource({ uri: "file:///d.pdf", mimeType: "application/pdf", blob: base64("%PDF-") }),
            { type: "resource_link", uri: "file:///e.csv", name: "e.csv", mimeType: "text/csv" },
            { type: "from the future", value: 1 },
          ],
        },
      },
    }),
  ]);
  const { result, content } = await call("files");
  t.deepEqual(result?.split("\n"), [
    "héllo",
    "as text",
    "{}",
    "[file:///d.pdf, application/pdf, 5 bytes]",
    "[e.csv, text/csv, file:///e.csv]",
    '{"type":"from the future","value":1}',
  ]);
  t.deepEqual(
    content.map(({ mimeType, name, source }) => [mimeType, name, source.case]),
    [
      ["application/pdf", "file:///d.pdf", "data"],
      ["text/csv", "e.csv", "uri"],
    ],
  );
});

test("B41: an image's bytes are content, and its text a short line", async (t) => {
  const bytes = new Uint8Array(300_000).fill(0x89);
  const { call } = await serveMounts(t, [
    scripted({
      pages: [{ tools: [listed("draw")] }],
      answers: {
        draw: {
          content: [
            { type: "image", mimeType: "image/png", data: "$bytes" },
            { type: "text", text: "done" },
          ],
        },
      },
      fill: { $bytes: bytes.length },
    }),
  ]);
  const { result, content } = await call("draw");
  t.is(result, "[image/png, 300000 bytes]\ndone");
  t.is(content[0]?.mimeType, "image/png");
  const { source } = content[0] ?? {};
  t.deepEqual(source?.case === "data" ? new Uint8Array(source.value) : undefined, bytes);
});

test("B42: a failed call is an error with the server's own text", async (t) => {
  const { call } = await serveMounts(t, [
    scripted({
      pages: [{ tools: [listed("mail")] }],
      answers: { mail: { isError: true, content: [{ type: "text", text: "quota exceeded" }] } },
    }),
  ]);
  const failed = await call("mail");
  t.is(failed.error, "quota exceeded");
  t.is(failed.errorKind, ErrorKind.RAISED);
  t.is(failed.result, undefined);
  t.true(failed.durationMs > 0);
});

test("B43: structured detail is the error where there is no text", async (t) => {
  const { call } = await serveMounts(t, [
    scripted({
      name: "crm",
      pages: [{ tools: [listed("limited"), listed("silent")] }],
      answers: {
        limited: { isError: true, content: [], structuredContent: { code: "RATE", retry_s: 30 } },
        silent: { isError: true, content: [{ type: "text", text: " " }] },
      },
    }),
  ]);
  t.is((await call("limited")).error, '{"code":"RATE","retry_s":30}');
  t.is((await call("silent")).error, 'the MCP server "crm" says that the call failed, and not why');
});

test("structured content is beside the text, or is the text where there is none", async (t) => {
  const { call } = await serveMounts(t, [
    scripted({
      pages: [{ tools: ["both", "alone", "off"].map((name) => listed(name)) }],
      answers: {
        both: { content: [{ type: "text", text: "33 °C" }], structuredContent: { celsius: 33 } },
        alone: { content: [], structuredContent: { celsius: 33 } },
        // Against its own output schema: told as it came.
        off: { content: [{ type: "text", text: "?" }], structuredContent: [1, "a"] },
      },
    }),
  ]);
  const both = await call("both");
  t.is(both.result, "33 °C");
  t.is(both.structuredJson, '{"celsius":33}');
  t.is((await call("alone")).result, '{"celsius":33}');
  t.is((await call("off")).structuredJson, '[1,"a"]');
});

test("an answer that doesn't keep to its output schema is told as it came", async (t) => {
  const outputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const { call } = await serveMounts(t, [
    scripted({
      pages: [{ tools: [listed("count", { outputSchema })] }],
      answers: { count: { content: [{ type: "text", text: "many" }] } },
    }),
  ]);
  t.is((await call("count")).result, "many");
});

test("an error of the protocol is an error that names the server", async (t) => {
  const { call } = await serveMounts(t, [
    scripted({
      name: "crm",
      pages: [{ tools: [listed("gone")] }],
      answers: { gone: { error: { code: -32_602, message: "Unknown tool: gone" } } },
    }),
  ]);
  const failed = await call("gone");
  t.is(failed.errorKind, ErrorKind.RAISED);
  t.regex(failed.error ?? "", /^the MCP server "crm" refused the call: .*Unknown tool: gone$/u);
});

test("integers beyond 2^53 keep their digits on the way to a server and back", async (t) => {
  const log = `${folder(t)}/log`;
  const properties = { id: { type: "integer", format: "int64" }, plain: { type: "integer" } };
  const { call } = await serveMounts(t, [
    scripted({
      log,
      pages: [{ tools: [listed("find", { inputSchema: { type: "object", properties } })] }],
      answers: {
        find: '{"jsonrpc":"2.0","id":$id,"result":{"content":[],"structuredContent":{"id":9007199254740993,"x":1.0}}}',
      },
    }),
  ]);
  const found = await call("find", '{"id":9223372036854775807}');
  t.is(found.structuredJson, '{"id":9007199254740993,"x":1}');
  t.true(linesOf(log).some((line) => line.includes('"id":9223372036854775807')));
  const refused = await call("find", '{"plain":9007199254740993}');
  t.is(refused.errorKind, ErrorKind.INVALID_ARGUMENTS);
  t.regex(refused.error ?? "", /plain/u);
});

test("whatever a server answers becomes a text, or an error with a text", (t) => {
  const item = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        type: fc.constantFrom("text", "image", "audio", "resource", "resource_link", "?"),
        text: fc.jsonValue(),
        data: fc.oneof(fc.base64String(), fc.jsonValue()),
        mimeType: fc.oneof(fc.constantFrom("text/plain", "image/png"), fc.jsonValue()),
        uri: fc.jsonValue(),
        name: fc.jsonValue(),
        resource: fc.record(
          { uri: fc.string(), mimeType: fc.constant("text/csv"), blob: fc.base64String() },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: ["type"] },
    ),
  );
  const answer = fc.record(
    {
      content: fc.oneof(fc.array(item), fc.jsonValue()),
      isError: fc.oneof(fc.boolean(), fc.jsonValue()),
      structuredContent: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(answer, (said) => {
      try {
        const { result, structuredJson, content } = render(said as JsonObject);
        t.is(typeof result, "string");
        t.is(structuredJson === undefined, said.structuredContent === undefined);
        for (const part of content) t.true((part.data === undefined) !== (part.uri === undefined));
      } catch (error) {
        t.true(error instanceof SettledFailure);
        t.true(said.isError === true);
        t.not((error as SettledFailure).toolportFailure.error, "");
      }
    }),
  );
});
