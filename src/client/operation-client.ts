/**
 * Any operation of the wire contract as one call, for whoever may load all of it: a terminal does, a robot computer does not
 * (client.ts has what that needs).
 */
import * as z from "zod";

import type { Operation } from "../api/wire/operation.ts";
import { PAGE_LIMIT } from "../api/wire/pages.ts";
import { operationUrl } from "./address.ts";
import { readAnswer, readDocument } from "./answer.ts";
import type { CallResult } from "./call-result.ts";
import { LIST_LIMIT_BYTES, RECORD_LIMIT_BYTES } from "./client.ts";
import type { CredentialProblem } from "./credentials.ts";
import { isTooDeep } from "./depth.ts";
import { readNextCursor } from "./next-cursor.ts";
import { Secret } from "./secret.ts";
import type { ServiceAccess, ServiceRequest } from "./send-request.ts";
import { sendRequest } from "./send-request.ts";
import type { HttpAnswer } from "./transport/transport.ts";

/** What an operation is called with. */
export interface OperationInput {
  /** By the names in the path. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** An answer as the row's schema reads it, and as it came: what this program does not know of is in the document alone. */
export interface Answered<T> {
  readonly value: T;
  readonly document: unknown;
  /** Of the next page, where the service has one. */
  readonly nextCursor: string | null;
}

/** A row of the wire contract whose answer is read as `T`. */
export type OperationOf<T> = Omit<Operation, "response"> & { readonly response: z.ZodType<T> };

export interface OperationClient {
  /** Sends one request and never a second. Throws nothing but bugs; RangeError for a parameter no path can hold (`isPathParameter`). */
  call<T>(row: OperationOf<T>, input: OperationInput, signal: AbortSignal): Promise<CallResult<Answered<T>>>;
  /** Any request under the service's address, and its answer as it came, a success as a value. Throws nothing but bugs. */
  send(request: ServiceRequest, signal: AbortSignal): Promise<RawResult>;
}

/** `result` is what the answer says without any schema; `answer` is null where there is none. */
export interface RawResult {
  readonly result: CallResult<unknown>;
  readonly answer: HttpAnswer | null;
}

export interface OperationClientOptions extends ServiceAccess {
  /** Called before each request that needs one. */
  readonly credential: () => Promise<{ readonly kind: "credential"; readonly secret: Secret } | CredentialProblem>;
}

/** What is sent by operations that anybody may use. */
const NO_SECRET = new Secret("");

export function createOperationClient(options: OperationClientOptions): OperationClient {
  return {
    async call(row, input, signal) {
      const credential = row.scopes === "public" ? null : await options.credential();
      if (credential?.kind === "credential-problem") return { kind: "no-credential", problem: credential };
      const secret = credential?.secret ?? null;
      const request = operationRequest(options.baseUrl, row, input);
      const sent = await sendRequest(options, request, secret, signal);
      if (sent.kind === "unreachable") return sent;
      const { answer, wall_ms: wallMs } = sent;
      const reading = { schema: z.unknown(), url: request.url, wallMs, secret: secret ?? NO_SECRET };
      const read = readAnswer(answer, reading);
      if (read.kind !== "ok") return read;
      const document = read.value;
      if (isTooDeep(document)) {
        return { kind: "undecodable", status: read.status, detail: "the answer is nested beyond all bounds" };
      }
      const result = readDocument(read.status, document, { ...reading, schema: row.response });
      if (result.kind !== "ok") return result;
      const nextCursor = readNextCursor(answer.headers["link"]);
      return { ...result, value: { value: result.value, document, nextCursor } };
    },
    async send(request, signal) {
      const credential = await options.credential();
      if (credential.kind === "credential-problem") {
        return { result: { kind: "no-credential", problem: credential }, answer: null };
      }
      const { secret } = credential;
      const sent = await sendRequest(options, request, secret, signal);
      if (sent.kind === "unreachable") return { result: sent, answer: null };
      const { answer, wall_ms: wallMs } = sent;
      const reading = { schema: z.unknown(), url: request.url, wallMs, secret };
      // A success need not be JSON for who asks for the answer as it is.
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

/** Items asked for at once, where the service has pages; one that has none answers with everything. */
export const ITEMS_PER_REQUEST = PAGE_LIMIT.maximum;

/** An operation that pages answers with a list. */
function isList(row: OperationOf<unknown>): boolean {
  return row.method === "GET" && !row.path.endsWith("}");
}
