import * as z from "zod";

import { errorBodySchema, type ValidationError, validationErrorSchema } from "../api/wire/errors.ts";
import { isObject } from "../platform/is-object.ts";
import { maskWholeKeys } from "../api/wire/service-key.ts";
import { parseRetryAfter } from "../platform/retry.ts";
import type { AnsweredCall } from "./call-result.ts";
import { printable } from "./printable.ts";
import type { Secret } from "./secret.ts";
import type { HttpAnswer } from "./transport/transport.ts";

const DETAIL_LIMIT = 500;
const REQUEST_ID_LIMIT = 128;
/** Findings of one 422 that are kept. */
const VALIDATION_ERRORS_LIMIT = 64;
const LOC_DEPTH_LIMIT = 32;
const LOC_ELEMENT_LIMIT = 256;
const MESSAGE_LIMIT = 300;
const TYPE_LIMIT = 100;
const REASON_LIMIT = 64;

/** Other successes, such as 202 Accepted and 206 Partial Content, do not confirm that the operation is complete. */
const DONE: ReadonlySet<number> = new Set([200, 201]);

/** What is needed to read an answer; the secret is removed from its texts. */
export interface Reading<T> {
  readonly schema: z.ZodType<T>;
  readonly url: string;
  readonly wallMs: number;
  readonly secret: Secret;
}

/** Turns an answer into a result, whose texts are short, printable and without the credential. */
export function readAnswer<T>(answer: HttpAnswer, reading: Reading<T>): AnsweredCall<T> {
  if (answer.status >= 400 && answer.status <= 599) return refused(answer, reading);
  if (answer.status >= 200 && answer.status <= 299) return decoded(answer, reading);
  if (answer.status >= 300 && answer.status <= 399) return undecodable(answer, describeRedirect(answer, reading));
  return undecodable(answer, `unexpected status ${answer.status}`);
}

function decoded<T>(answer: HttpAnswer, reading: Reading<T>): AnsweredCall<T> {
  if (!answer.complete) {
    return undecodable(answer, `the answer is larger than ${answer.body.byteLength} bytes`);
  }
  const document = parseJson(answer.body, reading.secret);
  if (document === undefined) return undecodable(answer, `the answer is ${describeContent(answer)} instead of JSON`);
  if (DONE.has(answer.status)) return readDocument(answer.status, document, reading);
  const detail = `status ${answer.status} does not confirm that the operation is complete`;
  return { kind: "undecodable", status: answer.status, detail, isJson: true, document };
}

function undecodable({ status }: HttpAnswer, detail: string): AnsweredCall<never> {
  return { kind: "undecodable", status, detail };
}

/** Parses the document of a successful answer. */
export function readDocument<T>(status: number, document: unknown, reading: Reading<T>): AnsweredCall<T> {
  const parsed = reading.schema.safeParse(document);
  if (parsed.success) return { kind: "ok", status, value: parsed.data };
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.map(String).join(".")}`;
  const detail = `the answer does not match the documented schema${where}: ${issue?.message ?? ""}`;
  return { kind: "undecodable", status, detail: clean(detail, reading), isJson: true, document };
}

function refused(answer: HttpAnswer, reading: Reading<unknown>): AnsweredCall<never> {
  const value = parseJson(answer.body, reading.secret) ?? null;
  const validation = readValidationErrors(value, reading.secret);
  const { code, reason } = errorBodySchema.safeParse(value).data ?? {};
  return {
    kind: "refused",
    status: answer.status,
    detail: describeRefusal(answer, value, validation, reading),
    ...(value === null && isWebPage(answer) ? { isWebPage: true } : {}),
    ...(code === undefined ? {} : { code: quoted(code, REASON_LIMIT, reading.secret) }),
    ...(reason === undefined ? {} : { reason: quoted(reason, REASON_LIMIT, reading.secret) }),
    validation,
    retryAfterMs: parseRetryAfter(answer.headers["retry-after"], answer.headers["date"], reading.wallMs),
    request_id: readRequestId(answer, reading.secret),
  };
}

function describeRefusal(
  answer: HttpAnswer,
  value: unknown,
  validation: readonly ValidationError[] | null,
  reading: Reading<unknown>,
): string {
  const [first, ...more] = validation ?? [];
  if (first !== undefined) {
    const others = more.length > 0 ? ` (and ${more.length} more)` : "";
    return clean(`${first.loc.join(".")}: ${first.msg}${others}`, reading);
  }
  const told = errorBodySchema.safeParse(value);
  const sentence = told.success ? clean(told.data.detail, reading) : "";
  if (sentence !== "") return sentence;
  return `status ${answer.status} with ${value === null ? describeContent(answer) : "JSON that gives no reason"}`;
}

/** The findings of a 422, without `input` and `ctx`, which repeat the request and may be long. */
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

function describeRedirect(answer: HttpAnswer, reading: Reading<unknown>): string {
  const target = URL.parse(answer.headers["location"] ?? "", reading.url);
  // Only the origin: the rest may be long and contain tokens of a login page.
  const where = target === null || target.origin === "null" ? "elsewhere" : `to ${target.origin}`;
  return clean(`the answer redirects ${where}; redirects are not followed`, reading);
}

function isWebPage({ headers, body }: HttpAnswer): boolean {
  const start = new TextDecoder().decode(body.subarray(0, 64)).trimStart();
  return /html/i.test(headers["content-type"] ?? "") || /^<(?:!doctype html|html)/i.test(start);
}

function describeContent(answer: HttpAnswer): string {
  if (answer.body.byteLength === 0) return "an empty body";
  return isWebPage(answer) ? "a web page (a captive portal, or a wrong address?)" : "data of another kind";
}

/** Parses JSON, and removes the credential, which a gateway may echo. Undefined where it is no JSON. */
function parseJson(bytes: Uint8Array, secret: Secret): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // JSON may escape characters of the credential. A reviver would be slow for every long list.
    const mayHoldSecret = text.includes("\\") || secret.redactFrom(text) !== text;
    return mayHoldSecret ? JSON.parse(text, redactingReviver(secret)) : JSON.parse(text);
  } catch {
    // Also for JSON that is nested too deep for the reviver.
    return undefined;
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

function clean(text: string, reading: Reading<unknown>): string {
  return quoted(text, DETAIL_LIMIT, reading.secret);
}

/** Redacts before shortening, so that no part of a key remains, and afterwards, because removing characters may join the parts of a key. */
function quoted(text: string, limit: number, secret: Secret): string {
  const redacted = (each: string) => maskWholeKeys(secret.redactFrom(each));
  return redacted(printable(redacted(text), limit));
}
