import {
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  isFieldSet,
  type Message,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { ErrorInfoSchema, type Status } from "../../../../src/wire/v1.ts";
import { anyUnpack } from "@bufbuild/protobuf/wkt";

/** What there is to be covered: `what` is a name of the contract, in words where it is a rule. */
export type Coverable = string;

/**
 * Everything that a contract of some files has: each RPC, each field, each value of an enum, and for
 * each field that can be absent its absence.
 */
export function coverablesOf(files: readonly DescFile[]): ReadonlySet<Coverable> {
  const all = new Set<Coverable>();
  for (const file of files) {
    for (const service of file.services) for (const method of service.methods) all.add(rpc(method));
    for (const message of file.messages) {
      for (const field of message.fields) {
        all.add(present(field));
        if (hasPresence(field)) all.add(absent(field));
      }
    }
    for (const one of file.enums) for (const { name } of one.values) all.add(enumValue(one, name));
  }
  return all;
}

/** Sees what passes, and keeps what of the contract it shows. */
export class Coverage {
  readonly seen: Set<Coverable> = new Set<Coverable>();

  message(message: Message, method: DescMethod): void {
    this.seen.add(rpc(method));
    const desc = [method.input, method.output].find(
      ({ typeName }) => typeName === message.$typeName,
    );
    if (desc) this.#walk(desc, message);
  }

  fault({ details }: Status): void {
    for (const detail of details) {
      const info = anyUnpack(detail, ErrorInfoSchema);
      if (info) this.seen.add(reason(info.reason));
    }
  }

  /** Takes over what another has seen. */
  add(other: Coverage): void {
    for (const each of other.seen) this.seen.add(each);
  }

  #walk(desc: DescMessage, message: Message): void {
    const read = reflect(desc, message);
    for (const field of desc.fields) {
      const isSet = isFieldSet(message, field);
      this.seen.add(isSet ? present(field) : absent(field));
      // An implicit field at its default has the value 0.
      if (field.fieldKind === "enum" && (isSet || !hasPresence(field))) {
        const number: unknown = read.get(field);
        const known = field.enum.values.find((value) => value.number === number);
        if (known) this.seen.add(enumValue(field.enum, known.name));
      }
      if (!isSet) continue;
      if (field.fieldKind === "message") this.#part(field.message, read.get(field).message);
      if (field.fieldKind === "list" && field.listKind === "message") {
        for (const item of read.get(field) as Iterable<{ readonly message: Message }>) {
          this.#part(field.message, item.message);
        }
      }
    }
  }

  #part(desc: DescMessage, message: Message): void {
    if (message.$typeName === "google.rpc.Status") this.fault(message as Status);
    else this.#walk(desc, message);
  }
}

/** The reason of a fault. */
export function reason(name: string): Coverable {
  return `reason ${name}`;
}

function rpc(method: DescMethod): Coverable {
  return `rpc ${method.parent.typeName}/${method.name}`;
}

function present(field: DescField): Coverable {
  return `${field.parent.typeName}.${field.name}`;
}

function absent(field: DescField): Coverable {
  return `${field.parent.typeName}.${field.name} absent`;
}

function enumValue(of: DescEnum, name: string): Coverable {
  return `${of.typeName}.${name}`;
}

/** Whether absent is another thing than the default. */
function hasPresence(field: DescField): boolean {
  // A oneof's members are absent wherever another is there, which their presence shows.
  if (field.oneof !== undefined) return false;
  return field.fieldKind === "message" || field.proto.proto3Optional;
}
