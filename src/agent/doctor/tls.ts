import type { X509Certificate } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { TLSSocket } from "node:tls";

import type { CallResult, Unreachable } from "../../client/call-result.ts";
import { printable } from "../../client/printable.ts";
import type { Proxy } from "../../client/transport/proxy.ts";
import { hostOf, isLoopback, portOf } from "../../client/transport/service-url.ts";
import {
  DEFAULT_TIMEOUTS,
  isUnknownIssuer,
  looksLikeClock,
  OTHER_AUTHORITY,
} from "../../client/transport/transport.ts";
import type { Clock } from "../../platform/clock.ts";
import { isObject } from "../../platform/is-object.ts";
import { EXIT } from "../../platform/terminal.ts";
import { fail, ok, skip, type Verdict, warn } from "./check.ts";
import { NAME_AUTHORITY, SET_CLOCK } from "./network.ts";

/** The route to the service. */
interface Route {
  readonly url: URL;
  readonly proxy: Proxy | null;
  readonly caFile: string | null;
}

/** What a TLS connection to the service showed. */
export interface Handshake {
  readonly protocol: string;
  readonly certificate: X509Certificate;
}

const DAY_MS = 86_400_000;
/** Automatic renewal happens earlier than this. */
const SHORT_VALIDITY_DAYS = 14;
const NAME_LIMIT = 100;

/** undici publishes each connection here before it sends the request (its documentation, "Diagnostics Channel Support"). */
const CONNECTED = "undici:client:connected";

/**
 * Runs `work`, which sends a request to this URL, and also gives the handshake of its connection; null for none.
 *
 * @param onHandshake called once it is done.
 */
export async function withHandshake<T>(
  url: URL,
  work: () => Promise<T>,
  onHandshake: () => void = () => {},
): Promise<readonly [T, Handshake | null]> {
  let seen: Handshake | null = null;
  const onConnected = (message: unknown) => {
    const handshake = readHandshake(message, url);
    if (handshake === null) return;
    seen = handshake;
    onHandshake();
  };
  subscribe(CONNECTED, onConnected);
  try {
    return [await work(), seen];
  } finally {
    unsubscribe(CONNECTED, onConnected);
  }
}

function readHandshake(message: unknown, url: URL): Handshake | null {
  if (!isObject(message) || !isObject(message["connectParams"])) return null;
  const { socket } = message;
  // Not the connection to a proxy.
  if (!(socket instanceof TLSSocket) || message["connectParams"]["host"] !== url.host) return null;
  const certificate = socket.getPeerX509Certificate();
  return certificate === undefined ? null : { certificate, protocol: socket.getProtocol() ?? "TLS" };
}

/** Judges the service's certificate: chain, dates, name. @param contact what a request came to. */
export async function judgeTls(
  route: Route,
  { handshake, result }: { readonly handshake: Handshake | null; readonly result: CallResult<unknown> },
  clock: Clock,
  signal: AbortSignal,
): Promise<Verdict> {
  if (route.url.protocol === "http:")
    return isLoopback(route.url.hostname)
      ? skip("not used: plain http that stays on this machine")
      : warn("not used: the API key travels unencrypted", "use https in service.url");
  if (handshake !== null) {
    const { protocol, certificate } = handshake;
    const days = Math.floor((Date.parse(certificate.validTo) - clock.wallMs()) / DAY_MS);
    const what = `${protocol}, issued by ${issuerOf(certificate)}, valid until ${day(certificate.validTo)}`;
    return days < SHORT_VALIDITY_DAYS ? warn(`${what}: ${days} days left`, "have the service renew it") : ok(what);
  }
  if (result.kind !== "unreachable") return ok("the service proved its name");
  const isServed = result.reason === "tls" && (!isOwnMistake(result.code) || result.code === OTHER_AUTHORITY);
  const refused = isServed ? await lookAtCertificate(route, signal) : null;
  return explainRefusal(route, result, refused, clock);
}

function explainRefusal(
  { url, caFile }: Route,
  error: Unreachable,
  certificate: X509Certificate | null,
  clock: Clock,
): Verdict {
  const no = (what: string, remedy: string) => fail(EXIT.unreachable, what, remedy);
  const host = hostOf(url);
  if (certificate !== null && error.code === OTHER_AUTHORITY) {
    const what = `the certificate comes from ${issuerOf(certificate)}, which is not among the authorities in ${caFile ?? ""}`;
    const remedy =
      "put that authority's certificate (PEM) into this file, or name another one as service.ca_file; or have the service send its whole chain, if it is an intermediate";
    return no(what, remedy);
  }
  if (isOwnMistake(error.code)) return no(error.detail, "correct service.ca_file");
  if (certificate !== null && looksLikeClock(error.code)) {
    const { validFrom, validTo } = certificate;
    const now = day(clock.wallMs());
    const what = `the certificate is valid from ${day(validFrom)} to ${day(validTo)}, and the clock of this machine says ${now}`;
    return no(what, SET_CLOCK);
  }
  if (certificate !== null && isUnknownIssuer(error.code)) {
    const what = `the certificate comes from ${issuerOf(certificate)}, which this machine does not trust`;
    // X509_STORE_CTX_get_error(3): the service sent only its own certificate.
    const isAlone = error.code === "UNABLE_TO_VERIFY_LEAF_SIGNATURE";
    const remedy = isAlone
      ? `${NAME_AUTHORITY}; or have the service send its whole chain, if it is an intermediate`
      : NAME_AUTHORITY;
    return no(what, remedy);
  }
  if (certificate !== null && error.code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const what = `the certificate is for ${namesOf(certificate)}, not for ${host}`;
    return no(what, "use one of those names in service.url, or have the certificate issued for this one");
  }
  if (certificate === null && (error.code === "CONNECT_TIMEOUT" || error.code === "TOTAL_TIMEOUT"))
    return no(error.detail, "something on the network path drops packets: check firewall, proxy and MTU");
  return no(error.detail, `inspect the connection: openssl s_client -connect ${url.hostname}:${portOf(url)}`);
}

function isOwnMistake(code: string | null): boolean {
  return code?.startsWith("CA_FILE_") === true;
}

/**
 * Fetches the certificate that was refused, for its names and dates.
 *
 * This connection is made without verification. No more than `HEAD /` is sent over it, without a key, and it ends after the handshake.
 */
async function lookAtCertificate({ url, proxy }: Route, signal: AbortSignal): Promise<X509Certificate | null> {
  const { openDispatcher } = await import("../../client/transport/sender.ts");
  const trust = { certificates: undefined, isVerified: false };
  const over = new AbortController();
  const ended = AbortSignal.any([signal, over.signal]);
  const dispatcher = openDispatcher({ url, proxy }, trust, DEFAULT_TIMEOUTS, ended);
  const ask = { origin: url.origin, path: "/", method: "HEAD", signal: ended } as const;
  const [, handshake] = await withHandshake(
    url,
    () => dispatcher.request(ask).catch(() => null),
    // Later, because Node crashes when a socket is destroyed while it reports its handshake.
    () => setImmediate(() => over.abort()),
  );
  void dispatcher.destroy();
  signal.throwIfAborted();
  return handshake?.certificate ?? null;
}

/** Makes text from an unverified certificate safe for a terminal. */
function issuerOf({ issuer }: X509Certificate): string {
  const commonName = /^CN=(.+)$/m.exec(issuer)?.[1];
  return printable(commonName ?? issuer, NAME_LIMIT);
}

function namesOf({ subjectAltName, subject }: X509Certificate): string {
  return printable((subjectAltName ?? subject).replaceAll(/\b(?:DNS|IP Address):/g, ""), NAME_LIMIT);
}

function day(moment: string | number): string {
  return new Date(moment).toISOString().slice(0, 10);
}
