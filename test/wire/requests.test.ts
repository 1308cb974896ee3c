import { readFileSync } from "node:fs";
import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createValidator } from "@bufbuild/protovalidate";
import test from "ava";
import fc from "fast-check";
import { isToolPortError } from "../../src/errors.ts";
import { readExecuteRequest, readRefuseRequest } from "../../src/wire/request.ts";
import { ExecuteRequestSchema, RefuseRequestSchema } from "../../src/wire/v1.ts";

const image = new URL("../../gen/toolport.v1.binpb", import.meta.url);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(image)));
const validator = createValidator({ registry });

/** Whether the annotations of the contract let a message pass. */
function isValid(typeName: string, bytes: Uint8Array): boolean {
  const annotated = registry.getMessage(typeName) as DescMessage;
  return validator.validate(annotated, fromBinary(annotated, bytes)).kind === "valid";
}

function passes(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (isToolPortError(error)) return false;
    throw error;
  }
}

const id = fc.oneof(
  fc.constantFrom("", "x", "x".repeat(1024), "x".repeat(1025), "é".repeat(512), "é".repeat(513)),
  fc.string({ unit: "grapheme" }),
);
const call = fc.record({ runId: id, callId: id, name: fc.string() });

test("what is refused is what the annotations of the contract refuse", (t) => {
  fc.assert(
    fc.property(
      fc.record(
        {
          request: call,
          timeoutMs: fc.constantFrom(0, 1, 2 ** 32 - 1),
          onDisconnect: fc.constantFrom(0, 1, 2, 3, -1),
        },
        { requiredKeys: [] },
      ),
      (init) => {
        const message = create(ExecuteRequestSchema, init as object);
        const bytes = toBinary(ExecuteRequestSchema, message);
        return (
          isValid("toolport.v1.ExecuteRequest", bytes) === passes(() => readExecuteRequest(message))
        );
      },
    ),
  );
  fc.assert(
    fc.property(fc.option(call, { nil: undefined }), (request) => {
      const message = create(RefuseRequestSchema, request ? { request } : {});
      const bytes = toBinary(RefuseRequestSchema, message);
      return (
        isValid("toolport.v1.RefuseRequest", bytes) === passes(() => readRefuseRequest(message))
      );
    }),
  );
  t.pass();
});
