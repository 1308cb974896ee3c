// A plugin of protoc: generates codecs of the messages that Execute and Run
// exchange. They do what the general library does, for these messages alone,
// in straight lines.
//
// A reader takes messages as writers write them. At anything else, be it an
// unknown field, a field that comes twice or bytes that are no message, it
// throws; then the general library has to say what the bytes mean.
import { ScalarType } from "@bufbuild/protobuf";
import { createEcmaScriptPlugin, runNodeJs } from "@bufbuild/protoplugin";

const written = ["ExecuteResponse", "RunResponse"];
const read = ["ExecuteRequest", "RunRequest"];

/** Where the generated file finds what it writes to and reads from, from its own place. */
const runtime = "../../../../src/internal/protobuf";

/** Scalars: the method that takes them, their wire type, the value that is not written. */
const scalars = {
  [ScalarType.STRING]: { method: "string", wire: 2, zero: '""' },
  [ScalarType.BYTES]: { method: "bytes", wire: 2, zero: "new Uint8Array(0)" },
  [ScalarType.BOOL]: { method: "bool", wire: 0, zero: "false" },
  [ScalarType.UINT32]: { method: "uint32", wire: 0, zero: "0" },
  [ScalarType.UINT64]: { method: "uint64", wire: 0, zero: "0n" },
  [ScalarType.DOUBLE]: { method: "double", wire: 1, zero: "0" },
};

runNodeJs(
  createEcmaScriptPlugin({
    name: "protoc-gen-codec",
    version: "1",
    generateTs(schema) {
      const file = schema.files.find(({ name }) => name === "toolport/v1/tool_port_service");
      if (!file) return;
      const out = schema.generateFile("toolport/v1/codec_pb.ts");
      out.preamble(file);
      const named = (names) => names.map((name) => file.messages.find((one) => one.name === name));
      const writers = reachable(named(written));
      const readers = reachable(named(read));
      out.print(`import type { ProtoReader } from "${runtime}/proto-reader.ts";`);
      out.print(`import type { ProtoWriter } from "${runtime}/proto-writer.ts";`);
      for (const message of writers) printWriter(out, message);
      for (const message of readers) printReader(out, message);
    },
  }),
);

/** The messages of our own that some are made of, themselves included. */
function reachable(messages, all = new Set()) {
  for (const message of messages) {
    if (all.has(message) || !isOurs(message)) continue;
    all.add(message);
    const parts = message.fields.map((field) => field.message ?? undefined);
    reachable(
      parts.filter((part) => part !== undefined),
      all,
    );
  }
  return all;
}

function isOurs(message) {
  return message.file.proto.package === "toolport.v1";
}

function tagOf(field, wire) {
  return field.number * 8 + wire;
}

function wireOf(field) {
  if (field.fieldKind === "map") return 2;
  if (field.message) return 2;
  if (field.enum) return 0;
  return scalarOf(field).wire;
}

function scalarOf(field) {
  const scalar = scalars[field.scalar];
  if (!scalar) throw new Error(`${field.parent.name}.${field.name}: no codec for its type`);
  return scalar;
}

function hasPresence(field) {
  return field.proto.proto3Optional;
}

// Writers

function printWriter(out, message) {
  out.print();
  out.print(`/** Writes the fields of ${message.name}. */`);
  out.print(
    `export function write${message.name}(out: ProtoWriter, fields: `,
    out.importShape(message),
    "): void {",
  );
  for (const member of message.members) {
    if (member.kind === "oneof") printOneofWriter(out, member);
    else printFieldWriter(out, member);
  }
  out.print("}");
}

function printOneofWriter(out, oneof) {
  out.print(`  const { ${oneof.localName} } = fields;`);
  out.print(`  switch (${oneof.localName}.case) {`);
  for (const field of oneof.fields) {
    out.print(`    case "${field.localName}": {`);
    printValueWriter(out, field, `${oneof.localName}.value`, "      ");
    out.print("      break;");
    out.print("    }");
  }
  out.print("  }");
}

function printFieldWriter(out, field) {
  const value = `fields.${field.localName}`;
  if (field.fieldKind === "list") {
    out.print(`  for (const item of ${value}) {`);
    printValueWriter(out, field, "item", "    ");
    out.print("  }");
  } else if (field.fieldKind === "map") {
    throw new Error(`${field.parent.name}.${field.name}: no writer for maps`);
  } else {
    const condition = isSet(field, value);
    out.print(`  if (${condition}) {`);
    printValueWriter(out, field, value, "    ");
    out.print("  }");
  }
}

function isSet(field, value) {
  if (field.message || hasPresence(field)) return `${value} !== undefined`;
  if (field.enum) return `${value} !== 0`;
  if (field.scalar === ScalarType.BYTES) return `${value}.byteLength > 0`;
  // A zero with a sign is written.
  if (field.scalar === ScalarType.DOUBLE) return `!Object.is(${value}, 0)`;
  return `${value} !== ${scalarOf(field).zero}`;
}

function printValueWriter(out, field, value, indent) {
  const tag = tagOf(field, wireOf(field));
  if (!field.message) {
    const method = field.enum ? "int32" : scalarOf(field).method;
    out.print(`${indent}out.${method}(${tag}, ${value});`);
  } else if (isOurs(field.message)) {
    out.print(`${indent}const at = out.open(${tag});`);
    out.print(`${indent}write${field.message.name}(out, ${value});`);
    out.print(`${indent}out.close(at);`);
  } else {
    const toBinary = out.import("toBinary", "@bufbuild/protobuf");
    const schema = out.importSchema(field.message);
    out.print(`${indent}out.bytes(${tag}, `, toBinary, "(", schema, `, ${value}));`);
  }
}

// Readers

function printReader(out, message) {
  out.print();
  out.print(`/** Reads the fields of ${message.name}, up to \`end\`. */`);
  out.print(
    `export function read${message.name}(from: ProtoReader, end: number): `,
    out.importShape(message),
    " {",
  );
  out.print("  const fields: ", out.importShape(message), " = {");
  out.print(`    $typeName: "${message.typeName}",`);
  for (const member of message.members) {
    const initial = initialOf(member);
    if (initial) out.print(`    ${member.localName}: ${initial},`);
  }
  out.print("  };");
  out.print("  while (from.position < end) {");
  out.print("    switch (from.tag()) {");
  for (const field of message.fields) printFieldReader(out, field);
  out.print("      default:");
  out.print("        return from.fail();");
  out.print("    }");
  out.print("  }");
  out.print("  return from.position === end ? fields : from.fail();");
  out.print("}");
}

function initialOf(member) {
  if (member.kind === "oneof") return "{ case: undefined }";
  if (member.fieldKind === "list") return "[]";
  if (member.fieldKind === "map") return "{}";
  if (member.message || hasPresence(member)) return undefined;
  return member.enum ? "0" : scalarOf(member).zero;
}

function printFieldReader(out, field) {
  const target = `fields.${field.localName}`;
  out.print(`      case ${tagOf(field, wireOf(field))}:`);
  if (field.fieldKind === "map") {
    if (field.mapKey !== ScalarType.STRING || field.scalar !== ScalarType.STRING) {
      throw new Error(`${field.parent.name}.${field.name}: no reader for such a map`);
    }
    out.print(`        from.entry(${target});`);
  } else if (field.fieldKind === "list") {
    out.print(`        ${target}.push(${valueReader(field)});`);
  } else if (field.oneof) {
    const oneof = `fields.${field.oneof.localName}`;
    out.print(`        if (${oneof}.case !== undefined) return from.fail();`);
    out.print(`        ${oneof} = { case: "${field.localName}", value: ${valueReader(field)} };`);
  } else {
    if (field.message) out.print(`        if (${target} !== undefined) return from.fail();`);
    if (field.enum)
      out.print(`        ${target} = from.int32() as `, out.importShape(field.enum), ";");
    else out.print(`        ${target} = ${valueReader(field)};`);
  }
  out.print("        break;");
}

function valueReader(field) {
  if (field.message) return `read${field.message.name}(from, from.end())`;
  return `from.${scalarOf(field).method}()`;
}
