import { isUtf8 } from "node:buffer";
import { extname } from "node:path";

import { isJson } from "./is-json.ts";
import { isXml } from "./is-xml.ts";
import { isYaml } from "./is-yaml.ts";

/** Checking this much takes some tens of milliseconds. */
const TEXT_LIMIT_BYTES = 4 * 1024 * 1024;

/**
 * Parsing YAML takes about 600 times the size of the text in memory, and 1 ms per KB on the thread that answers the watchdog.
 * Calibrations and driver settings have a few KB.
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

/** True when `parses` checks such a file. */
export function isParsable(path: string, sizeBytes: number): boolean {
  const format = formatOf(path);
  if (format === undefined || sizeBytes === 0) return false;
  return sizeBytes <= (format === "yaml" ? YAML_LIMIT_BYTES : TEXT_LIMIT_BYTES);
}

/**
 * True when the syntax of the text is complete. Used to notice a file that is half-written.
 *
 * Lenient on purpose, because others' programs write and read these files. JSON with comments does not pass.
 */
export function parses(path: string, content: Uint8Array): boolean {
  switch (formatOf(path)) {
    case "json":
      // The last character of a half-written file may be cut, which is not UTF-8.
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

/** True for a UTF-16 byte order mark. Such markup is not ASCII, and not checked. */
function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}
