import { expect } from "vitest";

import { beyondSpec, operations } from "../../../src/api/api.ts";
import type { ErrorCode } from "../../../src/api/wire/errors.ts";
import type { Operation } from "../../../src/api/wire/operation.ts";
import { type AnswerTo, findings, readAnswer, refusal } from "./views.ts";

export const allOperations = { ...operations, ...beyondSpec } as const;
export type Name = keyof typeof allOperations;

/** The parts of a request, except its credential. */
export interface Sent {
  /** Path parameters, not yet encoded. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export type Loc = readonly (string | number)[];

/** A client with one credential, or none, that checks every answer against the contract. */
export interface Client {
  /** URL of the next replica: requests alternate between replicas. */
  nextUrl(): string;
  readonly key: string | null;
  /** Resolves with any answer. */
  send(name: Name, sent?: Sent): Promise<Answered>;
  /** Expects 200; resolves with the answer. */
  call<N extends Name>(name: N, sent?: Sent): Promise<AnswerTo<N>>;
  /** Expects a refusal other than 422; resolves with its detail. */
  refused(code: ErrorCode, name: Name, sent?: Sent): Promise<string>;
  /** Expects a 422 with findings at exactly these locations; resolves with their messages. */
  invalid(locs: readonly Loc[], name: Name, sent?: Sent): Promise<string[]>;
  /** A client of the same service with another credential. */
  as(key: string | null): Client;
  /** Creates an API key; resolves with a client that has it. */
  withKey(members: object): Promise<Client>;
}

const STATUS: Readonly<Record<ErrorCode, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  Conflict: 409,
  PayloadTooLarge: 413,
  RateLimited: 429,
  Unavailable: 503,
};

export function createClient(nextUrl: () => string, key: string | null): Client {
  const send = (name: Name, sent: Sent = {}) => sendTo(nextUrl(), key, allOperations[name], sent);
  const client: Client = {
    nextUrl,
    key,
    send,
    async call(name, sent) {
      const { status, body } = await send(name, sent);
      expect(status, `${name}: ${JSON.stringify(body).slice(0, 500)}`).toBe(200);
      return readAnswer(name, body);
    },
    async refused(code, name, sent) {
      const { status, body } = await send(name, sent);
      expect(status, `${name}: ${JSON.stringify(body).slice(0, 500)}`).toBe(STATUS[code]);
      const refused = refusal.parse(body);
      expect(refused.code).toBe(code);
      return refused.detail;
    },
    async invalid(locs, name, sent) {
      const { status, body } = await send(name, sent);
      expect(status, `${name}: ${JSON.stringify(body).slice(0, 500)}`).toBe(422);
      const { detail } = findings.parse(body);
      expect(detail.map(({ loc }) => loc)).toEqual(locs);
      return detail.map(({ msg }) => msg);
    },
    as: (other) => createClient(nextUrl, other),
    withKey: async (members) =>
      client.as((await client.call("createApiKey", { body: { label: "k", ...members } })).api_key),
  };
  return client;
}

/** The path of an operation with its parameters, percent-encoded. */
export function pathOf(operation: Operation, { path = {}, query = {} }: Sent = {}): string {
  const filled = operation.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent(path[name] ?? `no-such-${name}`),
  );
  const search = new URLSearchParams(query).toString();
  return search === "" ? filled : `${filled}?${search}`;
}

async function sendTo(url: string, key: string | null, operation: Operation, sent: Sent): Promise<Answered> {
  const { body } = sent;
  const answer = await fetch(url + pathOf(operation, sent), {
    method: sent.method ?? operation.method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...sent.headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  checkEveryAnswer(answer, text);
  return { status: answer.status, headers: answer.headers, body: text === "" ? null : JSON.parse(text) };
}

/** Checks what holds for every answer. */
function checkEveryAnswer({ status, headers }: Response, text: string): void {
  expect(status, text.slice(0, 500)).toBeLessThan(500);
  expect(headers.get("x-request-id")).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  expect(headers.get("content-type")).toMatch(/^application\/json(?:; charset=utf-8)?$/);
  expect(headers.get("server")).toBeNull();
  expect(headers.get("x-powered-by")).toBeNull();
  if (status === 401) expect(headers.get("www-authenticate")).toBe("Bearer");
  if (status === 405) expect(headers.get("allow")).not.toBeNull();
  if (status === 429 || status === 503) expect(headers.get("retry-after")).toMatch(/^\d+$/);
  if (status >= 400 && status !== 422) expect(text.length).toBeLessThan(1024);
}
