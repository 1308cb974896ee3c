import type { ContentPart, ErrorKind, Outcome } from "../domain/call.ts";

/**
 * An outcome as it is stored: JSON text, and the bytes of its content parts one after the other,
 * since JSON would make each byte four characters.
 */
export interface OutcomeText {
  readonly text: string;
  readonly parts: Uint8Array | null;
}

/** Whether two stored outcomes are the same. */
export function sameOutcome(a: OutcomeText, b: OutcomeText): boolean {
  return a.text === b.text && Buffer.compare(a.parts ?? nothing, b.parts ?? nothing) === 0;
}

const nothing: Uint8Array = new Uint8Array();

interface StoredPart {
  readonly mimeType: string;
  readonly size?: number;
  readonly uri?: string;
  readonly name?: string;
}

interface StoredOutcome {
  readonly result?: string;
  readonly structured?: string;
  readonly kind?: ErrorKind;
  readonly error?: string;
  readonly ms: number;
  readonly attempt: number;
  readonly content?: readonly StoredPart[];
}

/** Writes an outcome for the store; whether it was replayed is no part of it. */
export function encodeOutcome(outcome: Outcome): OutcomeText {
  const stored: StoredOutcome = {
    ...(outcome.ok
      ? {
          result: outcome.result,
          ...(outcome.structuredJson !== undefined && { structured: outcome.structuredJson }),
        }
      : { kind: outcome.errorKind, error: outcome.error }),
    ms: outcome.durationMs,
    attempt: outcome.attempt,
    ...(outcome.content.length > 0 && { content: outcome.content.map(storedPart) }),
  };
  const bytes = outcome.content.flatMap((part) => (part.data === undefined ? [] : [part.data]));
  return {
    text: JSON.stringify(stored),
    parts: bytes.length === 0 ? null : new Uint8Array(Buffer.concat(bytes)),
  };
}

/** Reads a stored outcome. */
export function decodeOutcome({ text, parts }: OutcomeText, replayed: boolean): Outcome {
  const stored: StoredOutcome = JSON.parse(text);
  let offset = 0;
  const content = (stored.content ?? []).map((part): ContentPart => {
    const { mimeType, size, uri, name } = part;
    return {
      mimeType,
      ...(size !== undefined && {
        data: (parts ?? nothing).slice(offset, (offset += size)),
      }),
      ...(uri !== undefined && { uri }),
      ...(name !== undefined && { name }),
    };
  });
  const common = { content, durationMs: stored.ms, attempt: stored.attempt, replayed };
  return stored.kind === undefined
    ? { ...common, ok: true, result: stored.result ?? "", structuredJson: stored.structured }
    : { ...common, ok: false, errorKind: stored.kind, error: stored.error ?? "" };
}

function storedPart(part: ContentPart): StoredPart {
  return {
    mimeType: part.mimeType,
    ...(part.data !== undefined && { size: part.data.byteLength }),
    ...(part.uri !== undefined && { uri: part.uri }),
    ...(part.name !== undefined && { name: part.name }),
  };
}
