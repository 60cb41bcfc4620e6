/** How a login is started and approved: the page in a browser, the listener that the browser comes back to, and the polls beside it. */
import { spawn } from "node:child_process";
import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { platform } from "node:os";

import { beyondSpec } from "../../api/api.ts";
import { Secret } from "../../client/secret.ts";
import { within } from "../../platform/clock.ts";
import type { OperatorContext } from "../context.ts";
import { type Failure, isTemporary, isUnknownOperation } from "../failure.ts";
import type { Service } from "../service.ts";

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
    if (isUnknownOperation(polled) || !isTemporary(polled) || lost >= LOST_POLLS_LIMIT)
      return { kind: "failed", failure: polled };
    const askedMs = polled.kind === "refused" ? (polled.retryAfterMs ?? 0) : 0;
    intervalMs = Math.min(Math.max(intervalMs, askedMs), POLL_INTERVAL_S.maximum * 1000);
  }
}

const CALLBACK_GRACE_MS = 1500;

/** A random secret in base64url, which needs no escaping in URLs. */
function secretText({ machine }: OperatorContext, bytes: number): string {
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

/** The result of a login, which the browser brings. */
type LoginCallback = { readonly kind: "approved"; readonly code: string } | { readonly kind: "denied" };

const CALLBACK_PATH = "/callback";
const LONGEST_CODE = 256;
const CONNECTIONS_LIMIT = 16;
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Listens on a free port of the loopback interface (RFC 8252 section 7.3). The service redirects the browser to its `url`; `callback`
 * resolves once, with what the browser brings.
 *
 * @returns null where the port cannot be opened.
 */
export async function listenForCallback(context: OperatorContext) {
  // Unguessable: other programs and pages can reach the port too (RFC 6749 section 10.12).
  const state = secretText(context, 16);
  const { promise: callback, resolve } = Promise.withResolvers<LoginCallback>();
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, maxHeaderSize: 8192 }, (request, response) => {
    request.resume();
    const url = URL.parse(request.url ?? "", "http://127.0.0.1");
    if (request.method !== "GET" || url?.pathname !== CALLBACK_PATH) return answer(response, 404, "Nothing is here.");
    if (!isSame(url.searchParams.get("state") ?? "", state)) {
      return answer(response, 400, "This belongs to another login. Start again in the terminal.");
    }
    const code = url.searchParams.get("code") ?? "";
    const isApproved = code !== "" && code.length <= LONGEST_CODE;
    const what = isApproved ? "The login is approved." : "The login was denied.";
    answer(response, 200, `${what} Close this page and return to the terminal.`);
    resolve(isApproved ? { kind: "approved", code } : { kind: "denied" });
  });
  server.maxConnections = CONNECTIONS_LIMIT;
  // Only the listener keeps the command running, not what a browser leaves open.
  server.on("connection", (socket) => socket.unref());
  const port = await portOf(server);
  if (port === null) return null;
  return {
    url: `http://127.0.0.1:${port}${CALLBACK_PATH}?state=${encodeURIComponent(state)}`,
    callback,
    // close() lets running responses finish, such as the page for the browser.
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

async function portOf(server: Server): Promise<number | null> {
  server.listen({ host: "127.0.0.1", port: 0 });
  const isListening = await once(server, "listening").then(
    () => true,
    () => false,
  );
  const address = server.address();
  return isListening && typeof address === "object" && address !== null ? address.port : null;
}

function answer(response: ServerResponse, status: number, sentence: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    connection: "close",
  });
  response.end(`${sentence}\n`);
}

function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

type Environment = OperatorContext["environment"];

/** Variables of a graphical session on this computer. */
const SCREENS = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER"] as const;

function hasScreen(environment: Environment): boolean {
  return SCREENS.some((name) => (environment[name] ?? "") !== "");
}

/** Whether this is an ssh session: the operator's browser is then on another computer, and cannot reach a listener here. */
export function isRemoteSession(environment: Environment): boolean {
  return (environment["SSH_CONNECTION"] ?? "") !== "" && !hasScreen(environment);
}

/** Opens the browser if this computer seems to have one, and does not wait for it. The caller prints the address in any case. */
export function openBrowser(url: string, environment: Environment): void {
  const isMac = platform() === "darwin";
  if (!isMac && !hasScreen(environment)) return;
  const isWindows = (environment["WSL_DISTRO_NAME"] ?? "") !== "";
  // Keep the key out of the browser's environment.
  const { ROBOT_POLICY_API_KEY: _key, ...env } = environment;
  const opener = isMac ? "open" : isWindows ? "wslview" : "xdg-open";
  const child = spawn(opener, [url], { stdio: "ignore", detached: true, env });
  child.on("error", () => {});
  child.unref();
}
