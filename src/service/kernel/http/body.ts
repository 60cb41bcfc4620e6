import type { FastifyRequest } from "fastify";
import type * as z from "zod";

import { decodeJson } from "../json/decode-json.ts";
import { type Json, parseJson } from "../json/json.ts";
import { type Finding, MISSING } from "../validation/finding.ts";
import { validate } from "../validation/validation.ts";
import { type Answer, refuse, refuseInvalid, refuseUnreadable } from "./answers.ts";

/**
 * Values of all kinds in one body: the parsed form takes up to fifty times the bytes of `{}`. The largest contract, two
 * vectors of 256 axes, has 5,700 of them.
 */
export const BODY_VALUES_MAXIMUM = 8192;

const UNREADABLE = refuseUnreadable(400, "There was an error parsing the body");
const TOO_MANY_VALUES = refuse("PayloadTooLarge", `The body has more than ${BODY_VALUES_MAXIMUM} JSON values`);

/** The value, or the answer that refuses it. */
export type Reading<T> =
  | { readonly state: "read"; readonly value: T }
  | { readonly state: "refused"; readonly answer: Answer };

/** The validated body of a request. */
export function readRequest<S extends z.ZodType>(
  { request: schema }: { readonly request: S },
  { contentType, body }: FastifyRequest,
): Reading<z.output<S>> {
  return validateBody(schema, readBody(contentType, body instanceof Uint8Array ? body : undefined));
}

/** A body as its schema reads it. */
export function validateBody<S extends z.ZodType>(schema: S, body: Reading<Json>): Reading<z.output<S>> {
  if (body.state === "refused") return body;
  const validated = validate(schema, body.value, ["body"]);
  if (validated.state === "invalid") return refused(refuseInvalid(validated.findings));
  return { state: "read", value: validated.value };
}

/**
 * Reads a request body as FastAPI does: JSON where the content type is `application/json` or `application/…+json`, a text
 * otherwise (which no operation accepts, but the answer shows it); an empty body is missing whatever its type.
 */
export function readBody(contentType: string | undefined, bytes: Uint8Array | undefined): Reading<Json> {
  if (bytes === undefined || bytes.byteLength === 0) {
    return refused(refuseInvalid([{ ...MISSING, loc: ["body"], input: null }]));
  }
  const isJson = isJsonType(contentType);
  const text = isJson ? decodeJson(bytes) : decodeText(bytes);
  if (text === null) return refused(UNREADABLE);
  if (!isJson) return { state: "read", value: text };
  const parsed = parseJson(text, BODY_VALUES_MAXIMUM);
  switch (parsed.state) {
    case "parsed":
      return { state: "read", value: parsed.value };
    case "too-much":
      return refused(UNREADABLE);
    case "too-many":
      return refused(TOO_MANY_VALUES);
    case "invalid":
      return refused(refuseInvalid([syntaxFinding(parsed.message, parsed.position)]));
  }
}

function refused(answer: Answer): Reading<never> {
  return { state: "refused", answer };
}

function syntaxFinding(message: string, position: number): Finding {
  const ctx = { error: message };
  return { type: "json_invalid", loc: ["body", position], msg: "JSON decode error", input: new Map(), ctx };
}

/** FastAPI uses Python's email parser: anything but one `type/subtype` counts as text/plain. */
function isJsonType(contentType: string | undefined): boolean {
  const type = (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const [main, subtype, ...rest] = type.split("/");
  return main === "application" && rest.length === 0 && (subtype === "json" || subtype?.endsWith("+json") === true);
}

/** Null when the bytes are not UTF-8. Only JSON loses its byte order mark. */
function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
