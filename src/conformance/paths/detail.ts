import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { AnySchema } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";

/** A detail of an error, of either form that connect has for it, as an Any. */
export function anyOfDetail(
  detail: ConnectError["details"][number],
): MessageInitShape<typeof AnySchema> {
  if ("desc" in detail) {
    const desc: DescMessage = detail.desc;
    const value = toBinary(desc, create(desc, detail.value as never));
    return { typeUrl: `type.googleapis.com/${desc.typeName}`, value };
  }
  return { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value };
}
