import { readFile } from "node:fs/promises";

import { load } from "cheerio";
import { defineTool } from "toolport";
import { z } from "zod";

const site = new URL("../data/site/", import.meta.url);
const maxBytes = 1_000_000;

/**
 * Reads a page and keeps what a reader would. It reaches only this machine: a model may be talked
 * into asking for any address, so the tool decides where it may go.
 */
export const readPage = defineTool({
  name: "read_page",
  description: `Reads a web page of this machine and returns its title, text and links.

Takes the name of a page of the company's site, such as timetable.html, or an http address on
localhost.`,
  parameters: z.object({
    page: z.string().min(1).describe("For example timetable.html or http://localhost:8080/"),
  }),
  category: "web",
  timeoutMs: 10_000,
  readOnly: true,
  async execute({ page }, ctx) {
    const url = new URL(page, site);
    const html = await (url.protocol === "file:" ? readOwnFile(url) : fetchLocal(url, ctx.signal));
    return extract(html, url);
  },
});

async function readOwnFile(url: URL): Promise<string> {
  if (!url.href.startsWith(site.href)) throw new Error(`${url.href} is not a page of the site`);
  return await readFile(url, "utf8");
}

async function fetchLocal(url: URL, signal: AbortSignal): Promise<string> {
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol !== "http:" || !isLocal) {
    throw new Error(`${url.href} is not an http address on this machine`);
  }
  // A redirect could lead off this machine.
  const response = await fetch(url, { signal, redirect: "error" });
  if (!response.ok) throw new Error(`${url.href} answered ${response.status}`);
  const type = response.headers.get("content-type") ?? "";
  if (!type.includes("html")) throw new Error(`${url.href} is ${type || "of no type"}, not HTML`);
  let bytes = 0;
  let html = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`${url.href} is larger than ${maxBytes} bytes`);
    html += decoder.decode(chunk, { stream: true });
  }
  return html + decoder.decode();
}

/** The page's title, its text a block a line, and its links. */
function extract(html: string, base: URL): Record<string, unknown> {
  const $ = load(html);
  const title = $("title").text().trim();
  $("script, style, nav, header, footer, noscript, template, svg").remove();
  const main = $("main, article, [role=main]").first();
  const root = main.length > 0 ? main : $("body");
  const links = root
    .find("a[href]")
    .toArray()
    .map((a) => ({ text: squeeze($(a).text()), url: absolute($(a).attr("href") ?? "", base) }));
  // White space in the source means no more than one space; lines are made of blocks alone.
  for (const node of root.find("*").addBack().contents().toArray()) {
    if ("data" in node) node.data = node.data.replace(/\s+/gu, " ");
  }
  root.find("td, th").append(" ");
  root.find("br, p, li, tr, h1, h2, h3, h4, h5, h6, div, section, pre").append("\n");
  root.find("li").prepend("- ");
  const text = root.text().split("\n").map(squeeze).filter(Boolean).join("\n");
  return { title, text, links };
}

function absolute(href: string, base: URL): string {
  return URL.canParse(href, base) ? new URL(href, base).href.replace(site.href, "") : href;
}

function squeeze(text: string): string {
  return text.replace(/\s+/gu, " ").trim();
}
