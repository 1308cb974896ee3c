// What Python's text functions do, where a rule is defined by them: `str.splitlines`, `str.strip`
// and `repr`. JavaScript's own `split` and `trim` differ on several of these characters.

// oxlint-disable-next-line no-control-regex -- these are the characters that splitlines breaks at
const lineBreak = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/u;

// oxlint-disable-next-line no-control-regex -- the characters whose str.isspace() is true
const space = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;

/** The lines of a text as Python's `str.splitlines()` gives them: a break at the end adds none. */
export function splitLines(text: string): readonly string[] {
  const lines = text.split(lineBreak);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** A text without the white space at its ends, as Python's `str.strip()` does: U+FEFF stays. */
export function strip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && space.test(text.charAt(start))) start += 1;
  while (end > start && space.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** The first line that is not blank, stripped; empty where there is none. */
export function firstLine(text: string): string {
  for (const line of splitLines(text)) {
    const stripped = strip(line);
    if (stripped !== "") return stripped;
  }
  return "";
}

const named: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

/** A text in quotes as Python's `repr` writes it, such as `'add'`, `"it's"` or `'a\nb'`. */
export function pythonRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let body = "";
  for (const char of text) {
    if (char === quote) body += `\\${char}`;
    else if (Object.hasOwn(named, char)) body += named[char];
    else if (char === " " || !/[\p{C}\p{Z}]/u.test(char)) body += char;
    else body += escapeCode(char.codePointAt(0) ?? 0);
  }
  return quote + body + quote;
}

function escapeCode(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
