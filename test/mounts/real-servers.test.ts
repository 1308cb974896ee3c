import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";

import { mcp } from "../../src/mounts/mcp.ts";
import { ErrorKind } from "../../src/wire/v1.ts";
import { folder, serveMounts } from "./world.ts";

const packages = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol");
const everything = mcp({
  command: process.execPath,
  args: [join(packages, "server-everything/dist/index.js")],
});

test("the reference server's tools are mounted and called, whatever they answer with", async (t) => {
  const { port, call, follow } = await serveMounts(t, [everything]);
  t.deepEqual(port.warnings, []);
  t.is(port.registry.get("echo")?.descriptor.capability, "mcp-servers/everything");
  t.is((await call("echo", '{"message":"hi"}')).result, "Echo: hi");
  t.is((await call("get-sum", '{"a":1}')).errorKind, ErrorKind.INVALID_ARGUMENTS);
  const structured = await call("get-structured-content", '{"location":"New York"}');
  t.is(structured.structuredJson, structured.result);
  const image = await call("get-tiny-image");
  t.regex(image.result ?? "", /\n\[image\/png, \d+ bytes\]\n/u);
  t.is(image.content[0]?.mimeType, "image/png");
  const links = await call("get-resource-links", '{"count":3}');
  t.is(links.content.length, 3);
  const long = await follow("trigger-long-running-operation", '{"duration":0.3,"steps":3}');
  t.is(long.events.filter((event) => event.case === "progress").length, 3);
});

test("the file system's server reads and writes, and its refusals are errors", async (t) => {
  const root = folder(t);
  writeFileSync(join(root, "a.txt"), "höllo\nworld");
  const { port, call } = await serveMounts(t, [
    mcp({
      name: "files",
      prefix: "files_",
      command: process.execPath,
      args: [join(packages, "server-filesystem/dist/index.js"), root],
    }),
  ]);
  t.true(port.registry.get("files_read_text_file")?.descriptor.readOnly);
  const path = JSON.stringify(join(root, "a.txt"));
  t.is((await call("files_read_text_file", `{"path":${path}}`)).result, "höllo\nworld");
  const copy = join(root, "b.txt");
  await call("files_write_file", JSON.stringify({ path: copy, content: "written" }));
  t.is(readFileSync(copy, "utf8"), "written");
  const outside = await call("files_read_text_file", '{"path":"/etc/hostname"}');
  t.is(outside.errorKind, ErrorKind.RAISED);
  t.regex(outside.error ?? "", /Access denied/u);
});
