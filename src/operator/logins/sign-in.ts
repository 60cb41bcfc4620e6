import { beyondSpec } from "../../api/api.ts";
import { Secret } from "../../client/secret.ts";
import { within } from "../../platform/clock.ts";
import type { OperatorContext } from "../context.ts";
import { type Failure, isUnknownOperation } from "../failure.ts";
import type { Service } from "../service.ts";
import type { LoginCallback } from "./callback.ts";

type StartedLogin =
  | { readonly kind: "started"; readonly login: Login; readonly url: string; readonly user_code: string | null }
  | { readonly kind: "failed"; readonly failure: Failure };

export type SignedIn =
  | { readonly kind: "signed-in"; readonly token: Secret }
  | { readonly kind: "denied" }
  | { readonly kind: "failed"; readonly failure: Failure };

/** A login that waits for its approval. Its token can only be fetched with the verifier. */
export interface Login {
  readonly exchange_id: string;
  readonly verifier: string;
}

/** Seconds between two polls; the service may choose another interval within these bounds. */
const POLL_INTERVAL_S = { default: 5, minimum: 1, maximum: 60 } as const;
/** A few failed polls must not end a login that is about to be approved. */
const LOST_POLLS_LIMIT = 10;

/** Starts a login at the service; `url` is the page to approve it on, `user_code` the code that the page shows. */
export async function startLogin(service: Service, callbackUrl: string): Promise<StartedLogin> {
  const verifier = secretText(service.context, 32);
  const result = await service.call(beyondSpec.startLogin, { body: { verifier, callback_url: callbackUrl } });
  if (result.kind !== "ok") return { kind: "failed", failure: result };
  const { exchange_id: exchangeId, login_url, user_code: userCode = null } = result.value.value;
  const url = pageOf(service.chosen.baseUrl, login_url);
  if (url !== null) return { kind: "started", login: { exchange_id: exchangeId, verifier }, url, user_code: userCode };
  const detail = "the service's login page is on another origin";
  return { kind: "failed", failure: { kind: "undecodable", status: result.status, detail } };
}

/**
 * Waits for the decision: the browser brings a code, or a poll answers. Callback and polls take turns, because an approval hands out its
 * token only once.
 */
export async function awaitApproval(
  service: Service,
  login: Login,
  callback: Promise<LoginCallback> | null,
): Promise<SignedIn> {
  const { machine, signal } = service.context;
  const called = callback ?? new Promise<never>(() => {});
  let intervalMs = POLL_INTERVAL_S.default * 1000;
  for (let lost = 0; ;) {
    const decision = await within(called, intervalMs, machine.clock, signal);
    if (decision?.kind === "denied") return { kind: "denied" };
    if (decision?.kind === "approved") return exchangeCode(service, login, decision.code);
    const polled = await service.call(beyondSpec.pollLogin, { body: login });
    signal.throwIfAborted();
    if (polled.kind === "ok") {
      const { status, token, interval } = polled.value.value;
      if (status === "complete" && token !== undefined) {
        // The browser will still open the callback: keep the listener for its page. An interrupt only ends that wait: the token is not given again.
        if (callback !== null) await within(callback, CALLBACK_GRACE_MS, machine.clock, signal).catch(() => null);
        return { kind: "signed-in", token: new Secret(token) };
      }
      lost = 0;
      intervalMs = clampInterval(interval);
      continue;
    }
    if (isDenial(polled)) return { kind: "denied" };
    lost += 1;
    if (!isTemporary(polled) || lost >= LOST_POLLS_LIMIT) return { kind: "failed", failure: polled };
    const askedMs = polled.kind === "refused" ? (polled.retryAfterMs ?? 0) : 0;
    intervalMs = Math.min(Math.max(intervalMs, askedMs), POLL_INTERVAL_S.maximum * 1000);
  }
}

const CALLBACK_GRACE_MS = 1500;

/** A random secret in base64url, which needs no escaping in URLs. */
export function secretText({ machine }: OperatorContext, bytes: number): string {
  return Buffer.from(machine.random.bytes(bytes)).toString("base64url");
}

async function exchangeCode(service: Service, login: Login, code: string): Promise<SignedIn> {
  const result = await service.call(beyondSpec.exchangeLogin, { body: { ...login, code } });
  if (result.kind === "ok") return { kind: "signed-in", token: new Secret(result.value.value.token) };
  return isDenial(result) ? { kind: "denied" } : { kind: "failed", failure: result };
}

function isDenial(result: Failure): boolean {
  return result.kind === "refused" && result.status === 401 && /denied/i.test(result.detail);
}

function isTemporary(failure: Failure): boolean {
  if (failure.kind === "refused")
    return !isUnknownOperation(failure) && (failure.status === 429 || failure.status >= 500);
  return failure.kind === "unreachable";
}

function clampInterval(intervalS: number | undefined): number {
  const { default: usual, minimum, maximum } = POLL_INTERVAL_S;
  return Math.min(maximum, Math.max(minimum, intervalS ?? usual)) * 1000;
}

/** The login page; null for one on another origin, which could be a phishing page. */
function pageOf(baseUrl: string, login_url: string): string | null {
  const base = new URL(`${baseUrl}/`);
  const isPath = login_url.startsWith("/") && !login_url.startsWith("//");
  // If the service's address has a path prefix, the page is below it.
  const url = URL.parse(isPath ? `.${login_url}` : login_url, base);
  return url !== null && url.origin === base.origin ? url.href : null;
}
