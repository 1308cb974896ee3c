// The benchmark's tools, for `toolport serve`: answer.ts says what the others answer.
import { defineTool, defineTools } from "toolport";

const pageBytes = 64 * 1024;
const padding = "x".repeat(pageBytes);

const parameters = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
};

function sumText({ a, b }) {
  return `${a} and ${b} make ${a + b}, which is the sum of the two numbers.`;
}

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  parameters,
  execute: sumText,
});

const page = defineTool({
  name: "page",
  description: "Adds two numbers on a page of 64 KiB.",
  parameters,
  execute(numbers) {
    const text = sumText(numbers);
    return text + padding.slice(text.length);
  },
});

// oxlint-disable-next-line import/no-default-export -- a tools file has one
export default defineTools({ tools: [add, page] });
