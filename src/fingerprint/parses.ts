import { isUtf8 } from "node:buffer";
import { extname } from "node:path";

import { parseAllDocuments } from "yaml";

import { isJson } from "./is-json.ts";
import { isXml } from "./is-xml.ts";

/** To look through this much takes some tens of milliseconds. */
const TEXT_LIMIT_BYTES = 4 * 1024 * 1024;

/**
 * The syntax tree of a YAML text takes about 600 times its size and 1 ms per KB, on the thread that answers the watchdog.
 * Calibrations and driver settings have some KB.
 */
const YAML_LIMIT_BYTES = 128 * 1024;

type Format = "json" | "yaml" | "xml";

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

/** True when `parses` has an opinion about such a file. */
export function isParsable(path: string, sizeBytes: number): boolean {
  const format = formatOf(path);
  if (format === undefined || sizeBytes === 0) return false;
  return sizeBytes <= (format === "yaml" ? YAML_LIMIT_BYTES : TEXT_LIMIT_BYTES);
}

/**
 * Says whether the text is whole as far as its syntax tells, to notice a writer that is half-way through.
 *
 * Generous on purpose: any number of YAML documents, unknown tags and directives, repeated keys and open aliases are fine,
 * because ROS and OpenCV files have them. JSON with comments is not JSON.
 */
export function parses(path: string, content: Uint8Array): boolean {
  switch (formatOf(path)) {
    case "json":
      // Not UTF-8, as when the last character is half written.
      return isUtf8(content) && isJson(content);
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

/** By its byte order mark. Its markup is not that of ASCII, and not judged. */
function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

function isYaml(text: string): boolean {
  // Blocks that a file system lost in a power cut read as zeros; the parser would take them for a plain text.
  if (text.includes("\0")) return false;
  const documents = parseAllDocuments(text, {
    strict: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  return Array.from(documents).every((document) => document.errors.length === 0);
}
