/**
 * Calls any operation of the wire contract, for a terminal.
 */
import * as z from "zod";

import type { Operation } from "../api/wire/operation.ts";
import { PAGE_LIMIT } from "../api/wire/pages.ts";
import { readAnswer, readDocument } from "./answer.ts";
import type { CallResult } from "./call-result.ts";
import type { CredentialProblem } from "./credential.ts";
import { NO_SECRET, type Secret } from "./secret.ts";
import {
  LIST_LIMIT_BYTES,
  operationUrl,
  RECORD_LIMIT_BYTES,
  sendRequest,
  type ServiceAccess,
  type ServiceRequest,
} from "./send-request.ts";
import type { HttpAnswer } from "./transport/transport.ts";

/** The input of an operation. */
export interface OperationInput {
  /** By the names in the path. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** An answer as the operation's schema parses it, and unchanged: members that the schema does not know are only in the document. */
export interface Answered<T> {
  readonly value: T;
  readonly document: unknown;
  /** The query of the next page, where the service has one. */
  readonly next: PageQuery | null;
}

/** An operation whose answer is parsed as `T`. */
export type OperationOf<T> = Omit<Operation, "response"> & { readonly response: z.ZodType<T> };

export type OperationClient = ReturnType<typeof createOperationClient>;

/** `result` is read without a schema; `answer` is null where there is none. */
export interface RawResult {
  readonly result: CallResult<unknown>;
  readonly answer: HttpAnswer | null;
}

export type LoadedCredential = { readonly kind: "credential"; readonly secret: Secret } | CredentialProblem;

export interface OperationClientOptions extends ServiceAccess {
  /** Called before each request that needs a credential. */
  readonly credential: () => Promise<LoadedCredential>;
}

export function createOperationClient(options: OperationClientOptions) {
  return {
    /** Sends one request, without retries. Throws only bugs, such as a RangeError for a parameter that no path can have (`isPathParameter`). */
    async call<T>(row: OperationOf<T>, input: OperationInput, signal: AbortSignal): Promise<CallResult<Answered<T>>> {
      const credential = row.scopes === "public" ? null : await options.credential();
      if (credential?.kind === "credential-problem") return { kind: "no-credential", problem: credential };
      const secret = credential?.secret ?? null;
      const request = operationRequest(options.baseUrl, row, input);
      const sent = await sendRequest(options, request, secret, signal);
      if (sent.kind === "unreachable") return sent;
      const { answer, wallMs } = sent;
      const reading = { schema: z.unknown(), url: request.url, wallMs, secret: secret ?? NO_SECRET };
      const read = readAnswer(answer, reading);
      if (read.kind === "refused") return read;
      const document = read.kind === "ok" ? read.value : read.document;
      if (isTooDeep(document)) {
        return { kind: "undecodable", status: read.status, detail: TOO_DEEP, isJson: true };
      }
      if (read.kind !== "ok") return read;
      const result = readDocument(read.status, document, { ...reading, schema: row.response });
      if (result.kind !== "ok") return result;
      const next = readNextPage(answer.headers["link"]);
      return { ...result, value: { value: result.value, document, next } };
    },
    /** Sends any request below the service's address, and returns the answer unchanged. Throws only bugs. */
    async send(request: ServiceRequest, signal: AbortSignal): Promise<RawResult> {
      const credential = await options.credential();
      if (credential.kind === "credential-problem") {
        return { result: { kind: "no-credential", problem: credential }, answer: null };
      }
      const { secret } = credential;
      const sent = await sendRequest(options, request, secret, signal);
      if (sent.kind === "unreachable") return { result: sent, answer: null };
      const { answer, wallMs } = sent;
      const reading = { schema: z.unknown(), url: request.url, wallMs, secret };
      // The caller gets the answer unchanged, so a success need not be JSON.
      const isSuccess = answer.status >= 200 && answer.status <= 299 && answer.complete;
      const result = isSuccess
        ? ({ kind: "ok", status: answer.status, value: null } as const)
        : readAnswer(answer, reading);
      return { result, answer };
    },
  };
}

/** The request of an operation, as `call` sends it. */
export function operationRequest(baseUrl: string, row: OperationOf<unknown>, input: OperationInput): ServiceRequest {
  const { parameters = {}, query = {}, body } = input;
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
  return {
    method: row.method,
    url: operationUrl(baseUrl, row.path, parameters) + (search === "" ? "" : `?${search}`),
    body: body === undefined ? null : JSON.stringify(body),
    answerLimitBytes: isList(row) ? LIST_LIMIT_BYTES : RECORD_LIMIT_BYTES,
  };
}

/** Items per request, where the service has pages; one without pages answers with all items. */
export const ITEMS_PER_REQUEST = PAGE_LIMIT.maximum;

function isList(row: OperationOf<unknown>): boolean {
  return row.method === "GET" && !row.path.endsWith("}");
}

/** Far deeper than any document of a service. */
const DEPTH_LIMIT = 256;

const TOO_DEEP = "the answer is nested too deep";

/** Whether a document is nested so deep that printing it as JSON could overflow the stack. */
export function isTooDeep(document: unknown): boolean {
  let level: readonly unknown[] = [document];
  for (let depth = 0; depth < DEPTH_LIMIT; depth += 1) {
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
    if (level.length === 0) return false;
  }
  return true;
}

/** A cursor is short; longer headers are ignored. */
const LONGEST_HEADER = 4096;

export type PageQuery = Readonly<Record<string, string>>;

/**
 * The query of the next page, from a `Link` header (RFC 8288) such as `</v1/robots?limit=2&cursor=x>; rel="next"`; null where there is
 * none. What services call the place of a page differs, so all of the query is taken. The address is ignored, so that the credential is
 * sent only to the service.
 */
export function readNextPage(link: string | undefined): PageQuery | null {
  if (link === undefined || link.length > LONGEST_HEADER) return null;
  const next = link.split(/,(?=\s*<)/).find((value) => /;\s*rel\s*=\s*"?next"?\s*(?:;|$)/i.test(value));
  const target = /<([^>]*)>/.exec(next ?? "")?.[1];
  if (target === undefined) return null;
  const query = Object.fromEntries(URL.parse(target, "http://service")?.searchParams ?? []);
  return Object.keys(query).some((name) => name !== "limit") ? query : null;
}
