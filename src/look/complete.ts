/** Notices files that are half-written: their syntax is not complete. */
import { isUtf8 } from "node:buffer";
import { extname } from "node:path";

import { parseAllDocuments } from "yaml";

type Format = "json" | "yaml" | "xml";

/**
 * Larger files are not checked. Parsing takes memory, at worst fifty times the size of JSON and six hundred times that of YAML, and holds up
 * the thread that answers the watchdog; calibrations and driver settings have a few KB.
 */
const LIMIT_BYTES: Readonly<Record<Format, number>> = { json: 512 * 1024, yaml: 128 * 1024, xml: 4 * 1024 * 1024 };

const FORMATS: ReadonlyMap<string, Format> = new Map([
  [".json", "json"],
  [".yaml", "yaml"],
  [".yml", "yaml"],
  [".xml", "xml"],
  [".urdf", "xml"],
  [".xacro", "xml"],
  [".srdf", "xml"],
  [".sdf", "xml"],
  [".world", "xml"],
  [".mjcf", "xml"],
  [".launch", "xml"],
]);

/** True when `isComplete` needs the content of such a file. */
export function isCheckable(path: string, sizeBytes: number): boolean {
  const format = formatOf(path);
  return format !== undefined && sizeBytes <= LIMIT_BYTES[format];
}

/**
 * True when the syntax of the text is complete; always, for a format that is not checked.
 *
 * Lenient on purpose, because others' programs write and read these files. JSON with comments does not pass.
 */
export function isComplete(path: string, content: Uint8Array): boolean {
  switch (formatOf(path)) {
    case "json":
      // The last character of a half-written file may be cut, which is not UTF-8.
      return isUtf8(content) && isJson(new TextDecoder().decode(content));
    case "yaml":
      return isUtf8(content) && isYaml(new TextDecoder().decode(content));
    case "xml":
      return isUtf16(content) || isXml(Buffer.from(content).toString("latin1"));
    case undefined:
      return true;
  }
}

function formatOf(path: string): Format | undefined {
  return FORMATS.get(extname(path).toLowerCase());
}

/** What Python writes beyond JSON, outside of strings. A string without end matches as well, so that hostile text is read only once. */
const STRING_OR_CONSTANT = /"(?:[^"\\]|\\[^])*"?|-?\b(?:NaN|Infinity)\b/g;

function isJson(text: string): boolean {
  try {
    JSON.parse(text.replaceAll(STRING_OR_CONSTANT, (part) => (part.startsWith('"') ? part : "0")));
    return true;
  } catch {
    return false;
  }
}

/**
 * Several documents, unknown tags and directives, repeated keys and unresolved aliases pass, because ROS and OpenCV files have them. What
 * stands in brackets or quotes may continue at any column, because PyYAML reads that.
 */
function isYaml(text: string): boolean {
  // Blocks that a file system lost in a power cut read as zeros, which the parser accepts as plain text.
  if (text.includes("\0")) return false;
  return hasNoErrors(text) || hasNoErrors(joinLines(text));
}

/** YAML 1.2 wants what stands in brackets or quotes indented further than its key. */
function hasNoErrors(text: string): boolean {
  const options = { strict: false, uniqueKeys: false, prettyErrors: false, logLevel: "silent" } as const;
  return Array.from(parseAllDocuments(text, options)).every(({ errors }) => errors.length === 0);
}

/** A part of the text, outside and inside brackets: a quoted text, perhaps without end, a bracket, a comment, blanks, or words. */
const OUTSIDE =
  /"(?:[^"\\]|\\[^])*"?|'[^']*'?|[[{]|#.*|\s+|(?:---|[-?:])(?=\s)|[!&*]\S*|(?:[^\n:# \t]|:(?!\s)|(?<!\s)#|[ \t](?!#))+/y;
const INSIDE = /"(?:[^"\\]|\\[^])*"?|'[^']*'?|[[\]{}]|#.*|\s+|(?:[^\s[\]{},:#]|:(?=\S)|(?<!\s)#)+/y;

/** The text with each list, map and text in brackets or quotes on one line, without the comments in it. */
function joinLines(text: string): string {
  let joined = "";
  let openBrackets = 0;
  for (let at = 0; at < text.length;) {
    const pattern = openBrackets > 0 ? INSIDE : OUTSIDE;
    pattern.lastIndex = at;
    const part = pattern.exec(text)?.[0] ?? text.charAt(at);
    at += part.length;
    if (/^[[{]/.test(part)) openBrackets += 1;
    else if (openBrackets > 0 && /^[\]}]/.test(part)) openBrackets -= 1;
    if (openBrackets > 0 && part.startsWith("#")) continue;
    joined += openBrackets > 0 || /^["']/.test(part) ? part.replaceAll(/\r?\n/g, " ") : part;
  }
  return joined;
}

/** What may stand before the root element. */
const PROLOG = [
  ["<!--", "-->"],
  ["<?", "?>"],
  ["<!", ""],
] as const;

/** True when the text ends with its root element. The tags between are not compared: a text that is cut has lost its end. */
function isXml(text: string): boolean {
  if (text.includes("\0")) return false;
  const start = rootOf(text);
  const name = /^<([^\s/>]+)/.exec(text.slice(start ?? text.length, (start ?? 0) + 1024))?.[1];
  if (start === null || name === undefined) return false;
  let end = text.trimEnd();
  while (end.endsWith("-->")) end = end.slice(0, Math.max(0, end.lastIndexOf("<!--"))).trimEnd();
  const last = end.lastIndexOf("<");
  if (!end.endsWith(">")) return false;
  return last === start ? end.endsWith("/>") : end.slice(last + 2, -1).trimEnd() === name && end[last + 1] === "/";
}

/** The index of the root element; null when there is none. */
function rootOf(text: string): number | null {
  let at = text.indexOf("<");
  for (;;) {
    const part = PROLOG.find(([opening]) => text.startsWith(opening, at));
    if (part === undefined || at < 0) return at < 0 ? null : at;
    const [opening, closing] = part;
    const end = text.indexOf(closing, at + opening.length);
    if (end < 0) return null;
    at = text.indexOf("<", end + closing.length);
  }
}

/** True for a UTF-16 byte order mark. Such markup is not ASCII, and not checked. */
function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}
