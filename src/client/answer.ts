import * as z from "zod";

import type { ValidationError } from "../api/wire/errors.ts";
import { errorBodySchema, validationErrorSchema } from "../api/wire/errors.ts";
import { isObject } from "../platform/is-object.ts";
import { maskWholeKeys } from "../platform/text/service-key.ts";
import type { CallResult } from "./call-result.ts";
import { printable } from "./printable.ts";
import { parseRetryAfter } from "./retry-after.ts";
import type { Secret } from "./secret.ts";
import type { HttpAnswer } from "./transport/transport.ts";

const DETAIL_LIMIT = 500;
const REQUEST_ID_LIMIT = 128;
/** Findings of one 422 that are kept; a person reads fewer. */
const VALIDATION_ERRORS_LIMIT = 64;
const LOC_DEPTH_LIMIT = 32;
const LOC_ELEMENT_LIMIT = 256;
const MESSAGE_LIMIT = 300;
const TYPE_LIMIT = 100;

/** Other successes (202 "accepted", 205, 206 "a part of it") do not say that it is done. */
const DONE: ReadonlySet<number> = new Set([200, 201]);

/** What the answer is read with: its schema, the address asked, the time, and the secret it must not repeat. */
export interface Reading<T> {
  readonly schema: z.ZodType<T>;
  readonly url: string;
  readonly wallMs: number;
  readonly secret: Secret;
}

/** Turns an answer into a result. Everything a stranger wrote is bounded, printable and free of the credential. */
export function readAnswer<T>(answer: HttpAnswer, reading: Reading<T>): CallResult<T> {
  if (answer.status >= 400 && answer.status <= 599) return refused(answer, reading);
  if (answer.status >= 200 && answer.status <= 299) return decoded(answer, reading);
  const undecodable = (detail: string) => ({ kind: "undecodable", status: answer.status, detail }) as const;
  if (answer.status >= 300 && answer.status <= 399) return undecodable(describeRedirect(answer, reading));
  return undecodable(`status ${answer.status} has no meaning`);
}

function decoded<T>(answer: HttpAnswer, reading: Reading<T>): CallResult<T> {
  const undecodable = (detail: string) => ({ kind: "undecodable", status: answer.status, detail }) as const;
  if (!answer.complete) {
    return undecodable(`the answer is larger than ${answer.body.byteLength} bytes`);
  }
  const body = parseJson(answer.body, reading.secret);
  if (body.kind === "not-json") return undecodable(`the answer is ${describeContent(answer)} instead of JSON`);
  if (!DONE.has(answer.status)) return undecodable(`status ${answer.status} does not say that it is done`);
  return readDocument(answer.status, body.value, reading);
}

/** The schema's reading of what a successful answer holds. */
export function readDocument<T>(status: number, document: unknown, reading: Reading<T>): CallResult<T> {
  const parsed = reading.schema.safeParse(document);
  if (parsed.success) return { kind: "ok", status, value: parsed.data };
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.map(String).join(".")}`;
  const detail = `the answer has another form than documented${where}: ${issue?.message ?? ""}`;
  return { kind: "undecodable", status, detail: clean(detail, reading) };
}

function refused<T>(answer: HttpAnswer, reading: Reading<T>): CallResult<T> {
  const body = parseJson(answer.body, reading.secret);
  const value = body.kind === "json" ? body.value : null;
  const validation = readValidationErrors(value, reading.secret);
  return {
    kind: "refused",
    status: answer.status,
    detail: describeRefusal(answer, value, validation, reading),
    validation,
    retry_after_ms: parseRetryAfter(answer.headers["retry-after"], answer.headers["date"], reading.wallMs),
    request_id: readRequestId(answer, reading.secret),
  };
}

function describeRefusal<T>(
  answer: HttpAnswer,
  value: unknown,
  validation: readonly ValidationError[] | null,
  reading: Reading<T>,
): string {
  const first = validation?.[0];
  if (first !== undefined) {
    const more = (validation?.length ?? 1) - 1;
    return clean(`${first.loc.join(".")}: ${first.msg}${more > 0 ? ` (and ${more} more)` : ""}`, reading);
  }
  const told = errorBodySchema.safeParse(value);
  const sentence = told.success ? clean(told.data.detail, reading) : "";
  if (sentence !== "") return sentence;
  return `status ${answer.status} with ${value === null ? describeContent(answer) : "JSON that gives no reason"}`;
}

/** The findings of a 422, without `input` and `ctx`: they repeat what was sent, without a bound. */
function readValidationErrors(value: unknown, secret: Secret): ValidationError[] | null {
  const list = z.object({ detail: z.array(z.unknown()) }).safeParse(value);
  if (!list.success) return null;
  return list.data.detail.slice(0, VALIDATION_ERRORS_LIMIT).flatMap((item) => {
    const parsed = validationErrorSchema.safeParse(item);
    if (!parsed.success) return [];
    const { loc, msg, type } = parsed.data;
    return {
      loc: loc
        .slice(0, LOC_DEPTH_LIMIT)
        .map((element) => (typeof element === "number" ? element : quoted(element, LOC_ELEMENT_LIMIT, secret))),
      msg: quoted(msg, MESSAGE_LIMIT, secret),
      type: quoted(type, TYPE_LIMIT, secret),
    };
  });
}

function describeRedirect<T>(answer: HttpAnswer, reading: Reading<T>): string {
  const target = URL.parse(answer.headers["location"] ?? "", reading.url);
  // The origin alone: the rest may be long, and hold tokens of a login page.
  const where = target === null || target.origin === "null" ? "elsewhere" : `to ${target.origin}`;
  return clean(`the answer redirects ${where}; redirects are not followed`, reading);
}

function describeContent(answer: HttpAnswer): string {
  if (answer.body.byteLength === 0) return "an empty body";
  const type = answer.headers["content-type"] ?? "";
  const start = new TextDecoder().decode(answer.body.subarray(0, 64)).trimStart();
  if (/html/i.test(type) || /^<(?:!doctype html|html)/i.test(start)) {
    return "a web page (a captive portal, or a wrong address?)";
  }
  if (answer.headers["content-encoding"] !== undefined) return "compressed data that was not asked for";
  return /^text\//i.test(type) ? "plain text" : "data of an unknown kind";
}

type Json = { readonly kind: "json"; readonly value: unknown } | { readonly kind: "not-json" };

/** The document, without the credential wherever a gateway that echoes requests put it. */
function parseJson(bytes: Uint8Array, secret: Secret): Json {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // A character of the credential may be written as an escape. Reviving every list would be slow.
    const mayHoldSecret = text.includes("\\") || secret.redactFrom(text) !== text;
    return { kind: "json", value: mayHoldSecret ? JSON.parse(text, redactingReviver(secret)) : JSON.parse(text) };
  } catch {
    // Nested too deeply to be searched is not JSON either.
    return { kind: "not-json" };
  }
}

function redactingReviver(secret: Secret): (name: string, value: unknown) => unknown {
  return (_name, value) => {
    if (typeof value === "string") return secret.redactFrom(value);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [secret.redactFrom(name), member]));
  };
}

function readRequestId(answer: HttpAnswer, secret: Secret): string | null {
  const id = quoted(answer.headers["x-request-id"] ?? "", REQUEST_ID_LIMIT, secret);
  return id === "" ? null : id;
}

function clean<T>(text: string, reading: Reading<T>): string {
  return quoted(text, DETAIL_LIMIT, reading.secret);
}

/** Redacts before cutting, so that no half of a key is left, and after, lest dropping characters puts one together. */
function quoted(text: string, limit: number, secret: Secret): string {
  const redacted = (each: string) => maskWholeKeys(secret.redactFrom(each));
  return redacted(printable(redacted(text), limit));
}
