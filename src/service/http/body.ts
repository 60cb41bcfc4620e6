import type { Json } from "../json/parse-json.ts";
import { parseJson } from "../json/parse-json.ts";
import type { Finding } from "../validation/finding.ts";
import { MISSING } from "../validation/finding.ts";

/** `invalid` is for a 422 answer, `unreadable` for a 400. */
export type Body =
  | { readonly state: "read"; readonly value: Json }
  | { readonly state: "invalid"; readonly finding: Finding }
  | { readonly state: "unreadable" };

/**
 * Reads a request body as FastAPI does: JSON where the content type is `application/json` or `application/…+json`, a text
 * otherwise (which no operation accepts, but the answer shows it); an empty body is missing whatever its type.
 */
export function readBody(contentType: string | undefined, bytes: Uint8Array | undefined): Body {
  if (bytes === undefined || bytes.byteLength === 0) {
    return { state: "invalid", finding: { ...MISSING, loc: ["body"], input: null } };
  }
  const isJson = isJsonType(contentType);
  const text = decode(bytes, isJson ? jsonEncoding(bytes) : "utf-8");
  if (text === null) return { state: "unreadable" };
  if (!isJson) return { state: "read", value: text };
  const parsed = parseJson(text);
  switch (parsed.state) {
    case "parsed":
      return { state: "read", value: parsed.value };
    case "too-much":
      return { state: "unreadable" };
    case "invalid":
      return { state: "invalid", finding: syntaxFinding(parsed.message, parsed.position) };
  }
}

function syntaxFinding(message: string, position: number): Finding {
  const ctx = { error: message };
  return { type: "json_invalid", loc: ["body", position], msg: "JSON decode error", input: new Map(), ctx };
}

/** Python's email parser decides in FastAPI: anything but one `type/subtype` counts as text/plain. */
function isJsonType(contentType: string | undefined): boolean {
  const type = (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const [main, subtype, ...rest] = type.split("/");
  return main === "application" && rest.length === 0 && (subtype === "json" || subtype?.endsWith("+json") === true);
}

/** RFC 8259 asks for UTF-8; Python's decoder also knows UTF-16 by its mark, or by the zeros in its first characters. */
function jsonEncoding(bytes: Uint8Array): string {
  const [first = 1, second = 1, third = 1, fourth = 1] = bytes;
  if (first === 0xfe && second === 0xff) return "utf-16be";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (bytes.byteLength >= 4 && first === 0 && second !== 0) return "utf-16be";
  if (bytes.byteLength >= 4 && second === 0 && (third !== 0 || fourth !== 0)) return "utf-16le";
  return "utf-8";
}

/** Null where the bytes are not in that encoding. A byte order mark is dropped. */
function decode(bytes: Uint8Array, encoding: string): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
