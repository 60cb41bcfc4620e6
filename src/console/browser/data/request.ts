import type { ValidationError } from "../../../api/wire/errors.ts";
import { isObject } from "../../../platform/is-object.ts";
import { capitalized } from "../parts/text.ts";
import { createStore } from "../store.ts";

const TIMEOUT_MS = 15_000;

/** Protects against cross-site request forgery: pages of other sites cannot set this header. */
const CONSOLE_HEADER = "x-robot-policy-console";

/** Why a request failed, with a text for people. */
export type Problem =
  | { readonly kind: "unreachable"; readonly detail: string }
  | { readonly kind: "unauthorized"; readonly detail: string }
  | { readonly kind: "forbidden"; readonly detail: string }
  | { readonly kind: "missing"; readonly detail: string }
  | { readonly kind: "invalid"; readonly detail: string; readonly findings: readonly ValidationError[] }
  | { readonly kind: "refused"; readonly detail: string; readonly status: number };

export type Outcome<T> =
  | { readonly state: "answered"; readonly value: T }
  | { readonly state: "failed"; readonly problem: Problem }
  /** By the caller's signal. */
  | { readonly state: "aborted" };

/** Methods of requests that change something. */
export type Write = "POST" | "PATCH" | "DELETE";

export interface RequestOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/**
 * Sends one request to the service that served the page.
 *
 * Answers are not validated: they come from the same program as this page. An answer that is not JSON comes from a proxy, and counts as
 * a failure.
 *
 * @param path absolute, with its query.
 */
export async function request<T>(
  method: "GET" | Write,
  path: string,
  { body, signal, timeoutMs = TIMEOUT_MS }: RequestOptions = {},
): Promise<Outcome<T>> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  try {
    const response = await fetch(path, {
      method,
      headers: { [CONSOLE_HEADER]: "1", ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: "same-origin",
      redirect: "error",
      cache: "no-store",
      signal: signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]),
    });
    updateClockOffset(response.headers.get("date"));
    if (response.ok) return { state: "answered", value: await response.json() };
    return { state: "failed", problem: await readProblem(response) };
  } catch {
    if (signal?.aborted === true) return { state: "aborted" };
    const detail = timeout.signal.aborted
      ? `The service did not answer within ${timeoutMs / 1000} seconds.`
      : "The service cannot be reached from this computer right now.";
    return { state: "failed", problem: { kind: "unreachable", detail } };
  } finally {
    clearTimeout(timer);
  }
}

async function readProblem(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => null);
  const said = isObject(body) ? body["detail"] : null;
  const { status } = response;
  const detail = typeof said === "string" ? said : `The service answered with status ${status}.`;
  if (status === 401) return { kind: "unauthorized", detail };
  if (status === 403) return { kind: "forbidden", detail };
  if (status === 404) return { kind: "missing", detail };
  if (status === 422 && Array.isArray(said)) {
    const findings = said.filter(isFinding);
    return { kind: "invalid", findings, detail: findings.map(({ msg }) => sentence(msg)).join(" ") };
  }
  if (status !== 429) return { kind: "refused", status, detail };
  const after = response.headers.get("retry-after");
  const wait = after === null ? "Wait a little." : `Try again in ${after} s.`;
  return { kind: "refused", status, detail: `Too many requests. ${wait}` };
}

/** Date headers have whole seconds, and answers take time to arrive: smaller differences are ignored. */
const TOLERANCE_MS = 5000;

/** How far the service's clock is ahead of this computer's, in milliseconds. */
export const clockOffsetMs = createStore(0);

/** Milliseconds since the epoch by the service's clock, which made all times that the console shows. */
export function serviceNow(): number {
  return Date.now() + clockOffsetMs.get();
}

/** @param date the Date header of an answer that has just arrived (RFC 9110, 6.6.1). */
function updateClockOffset(date: string | null): void {
  const measuredMs = Date.parse(date ?? "") - Date.now();
  if (Math.abs(measuredMs - clockOffsetMs.get()) > TOLERANCE_MS) clockOffsetMs.set(measuredMs);
}

/** Whether the same request may succeed later: the page asks again by itself. */
export function isTemporary({ kind }: Problem): boolean {
  return kind === "unreachable" || kind === "refused" || kind === "unauthorized";
}

/** A validation message as a sentence, without the validator's prefix. */
export function sentence(message: string): string {
  const text = message.replace(/^(?:Value|Assertion) error, /, "").trim();
  return capitalized(/[.!?]$/.test(text) ? text : `${text}.`);
}

function isFinding(value: unknown): value is ValidationError {
  return isObject(value) && Array.isArray(value["loc"]) && typeof value["msg"] === "string";
}
