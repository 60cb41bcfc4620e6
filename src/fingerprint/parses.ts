import { extname } from "node:path";

/** JSON.parse of this much takes some tens of milliseconds and a few times the size in memory. */
const JSON_LIMIT_BYTES = 4 * 1024 * 1024;

/**
 * The syntax tree of a YAML text takes about 600 times its size and 1 ms per KB, on the thread that answers the watchdog.
 * Calibrations and driver settings have some KB.
 */
const YAML_LIMIT_BYTES = 128 * 1024;

/** True when `parses` has an opinion about such a file. */
export function isParsable(path: string, size_bytes: number): boolean {
  const limit_bytes = { json: JSON_LIMIT_BYTES, yaml: YAML_LIMIT_BYTES, other: 0 }[formatOf(path)];
  return size_bytes > 0 && size_bytes <= limit_bytes;
}

/**
 * Says whether the text is whole as far as its syntax tells, to notice a writer that is half-way through.
 *
 * Generous on purpose: any number of YAML documents, unknown tags and directives, repeated keys and open aliases are fine,
 * because ROS and OpenCV files have them. JSON with comments is not JSON.
 */
export async function parses(path: string, content: Uint8Array): Promise<boolean> {
  const text = decode(content);
  if (text === undefined) return false;
  switch (formatOf(path)) {
    case "json":
      return isJson(text);
    case "yaml":
      return isYaml(text);
    case "other":
      return true;
  }
}

function formatOf(path: string): "json" | "yaml" | "other" {
  const extension = extname(path).toLowerCase();
  if (extension === ".json") return "json";
  return extension === ".yaml" || extension === ".yml" ? "yaml" : "other";
}

/** Without its byte order mark; undefined when the bytes are not UTF-8, as when the last character is half written. */
function decode(content: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function isYaml(text: string): Promise<boolean> {
  // Blocks that a file system lost in a power cut read as zeros; the parser would take them for a plain text.
  if (text.includes("\0")) return false;
  const { parseAllDocuments } = await import("yaml");
  const documents = parseAllDocuments(text, {
    strict: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  return Array.from(documents).every((document) => document.errors.length === 0);
}
