import type { Doc, DocTag } from "./doc-comment.ts";
import { traitTagNames } from "./function-tags.ts";
import { schemaTagNames } from "./schema-tags.ts";

interface Said {
  readonly doc: Doc;
  readonly place: string;
  isUsed: boolean;
}

const nothing: Doc = Object.freeze({ description: "", tags: [] });
const parameterTags = new Set(["param", "arg", "argument"]);

/**
 * The tags of a function that are tags also within a line, so that `@hidden` is not lost in a comment
 * of one line. Any other `@` there is text.
 */
export const functionInlineTags: ReadonlySet<string> = new Set([
  ...schemaTagNames,
  ...traitTagNames,
  ...parameterTags,
  ...["returns", "return", "yields", "throws"],
]);

/** The doc comment of a function, sorted by what it speaks of. */
export class FunctionDoc {
  /** The text for the model. */
  readonly description: string;
  /** What is said of the function itself. */
  readonly tags: readonly DocTag[];
  readonly #parameters = new Map<string, Said>();
  readonly #warn: (sentence: string) => void;

  constructor(doc: Doc, warn: (sentence: string) => void) {
    this.#warn = warn;
    const own: DocTag[] = [];
    let tags: DocTag[] | undefined;
    for (const tag of doc.tags) {
      if (parameterTags.has(tag.name)) tags = this.#parameter(tag);
      // What says something of values belongs to the parameter before it.
      else if (tags && schemaTagNames.has(tag.name) && (tag.isInline || !isForBoth(tag))) {
        tags.push(tag);
      } else own.push(tag);
    }
    this.tags = own;
    this.description = [doc.description, ...own.flatMap(sentenceOf)].filter(Boolean).join("\n\n");
  }

  /** What is said of a parameter. */
  ofParameter(name: string): Doc {
    const said = this.#parameters.get(name);
    if (said) said.isUsed = true;
    return said?.doc ?? nothing;
  }

  /** What is said of a member of a destructured parameter, as `name` or as `options.name`. */
  ofMember(name: string): Doc {
    for (const [key, said] of this.#parameters) {
      if (key !== name && !key.endsWith(`.${name}`)) continue;
      said.isUsed = true;
      return said.doc;
    }
    return nothing;
  }

  /** Warns of what is said of parameters that there are not. */
  warnOfUnused(): void {
    const names = [...this.#parameters.keys()];
    for (const [name, { isUsed, place }] of this.#parameters) {
      const isOfMembers = names.some((one) => one.startsWith(`${name}.`));
      if (isUsed || isOfMembers) continue;
      this.#warn(`${place}: @param ${name} names no parameter that is advertised`);
    }
  }

  #parameter({ text, place }: DocTag): DocTag[] {
    const [, name = "", rest = ""] =
      /^(?:\{[^}]*\}\s*)?\[?([\w$.]+)(?:\s*=[^\]]*)?\]?\s*(?:-\s+)?([\s\S]*)$/u.exec(text) ?? [];
    const tags: DocTag[] = [];
    const description = rest.replace(/\s*\n\s*/gu, " ").trim();
    if (name !== "")
      this.#parameters.set(name, { doc: { description, tags }, place, isUsed: false });
    return tags;
  }
}

function isForBoth({ name }: DocTag): boolean {
  return name === "example" || name === "deprecated";
}

/** What the model is told of a tag of the function. */
function sentenceOf({ name, text }: DocTag): readonly string[] {
  if (name === "deprecated") return [text === "" ? "Deprecated." : `Deprecated: ${text}`];
  return name === "example" && text !== "" ? [`Example:\n${text}`] : [];
}
