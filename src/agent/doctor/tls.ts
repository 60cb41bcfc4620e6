import type { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { isIP, type Socket } from "node:net";
import { connect as connectTls, TLSSocket } from "node:tls";

import { printable } from "../../client/printable.ts";
import { looksLikeClock, isUnknownIssuer, OTHER_AUTHORITY, TransportError } from "../../client/transport/transport.ts";
import { openUntilTls } from "../../client/transport/connection.ts";
import type { Proxy } from "../../client/transport/proxy.ts";
import { hostOf, portOf } from "../../client/transport/service-url.ts";
import { trustingConnector } from "../../client/transport/trusted-connection.ts";
import type { Clock } from "../../platform/clock.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import { type Examined, fail, type Limit, ok, skip, type Verdict, warn } from "./check.ts";

/** The route to the service. */
export interface Route {
  readonly url: URL;
  readonly proxy: Proxy | null;
  readonly caFile: string | null;
}

/** The result of connecting. */
export type Attempt =
  | { readonly kind: "connected"; readonly socket: Socket }
  | { readonly kind: "failed"; readonly error: TransportError };

const DAY_MS = 86_400_000;
/** Automatic renewal happens earlier than this. */
const SHORT_VALIDITY_DAYS = 14;
const NAME_LIMIT = 100;

/**
 * Opens the connection as a request does: through the proxy, with TLS and the same trusted certificates.
 *
 * @throws the signal's reason.
 */
export async function attemptConnection(
  route: Route,
  { machine: { files, clock }, environment }: Pick<CommandContext, "machine" | "environment">,
  signal: AbortSignal,
): Promise<Attempt> {
  try {
    return {
      kind: "connected",
      socket: await trustingConnector(files, route.caFile, clock, environment)(route, signal),
    };
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    return { kind: "failed", error };
  }
}

export function connectionLimit({ url, proxy }: Route, limitMs: number): Limit {
  const through = proxy === null ? "" : ` through proxy ${proxy.url.host}`;
  const what = `no connection to ${url.host}${through} within ${limitMs / 1000} s`;
  return {
    limitMs,
    late: fail(EXIT.unreachable, what, "something on the network path drops packets: check firewall, proxy and MTU"),
  };
}

/** Checks that the proxy opens the connection; later errors belong to the TLS check. */
export function judgeProxy(proxy: Proxy, url: URL, attempt: Attempt): Verdict {
  const { host } = proxy.url;
  if (attempt.kind === "failed" && isOwnMistake(attempt.error)) return skip("needs tls");
  if (attempt.kind === "connected" || attempt.error.reason !== "proxy")
    return ok(`${host} lets us through to ${url.host}`);
  const { code, message } = attempt.error;
  return { ...fail(EXIT.unreachable, message, proxyRemedy(code)), isAboutAuthority: isUnknownIssuer(code) };
}

const NAME_AUTHORITY = "write that authority's certificate (PEM) to a file and set it as service.ca_file";
const SET_CLOCK = "if the clock is wrong, set it: timedatectl; if it is right, the server has to renew its certificate";

/** What a person does about a failure at the proxy. */
export function proxyRemedy(code: string | null): string {
  if (isUnknownIssuer(code)) return NAME_AUTHORITY;
  if (looksLikeClock(code)) return SET_CLOCK;
  return code === "HTTP_407"
    ? "put user name and password into service.proxy, or HTTPS_PROXY: http://USER:PASSWORD@HOST:PORT"
    : "check service.proxy, HTTPS_PROXY and NO_PROXY; `proxy: none` disables proxies";
}

/** Checks the service's certificate: chain, dates, name. */
export async function examineTls(
  route: Route,
  attempt: Attempt,
  clock: Clock,
  signal: AbortSignal,
): Promise<Examined<true>> {
  if (attempt.kind === "connected") {
    const verdict = judgeCertificate(attempt.socket, clock);
    attempt.socket.destroy();
    return { verdict, value: true };
  }
  const { error } = attempt;
  const isServed = error.reason === "tls" && (!isOwnMistake(error) || error.code === OTHER_AUTHORITY);
  const refused = isServed ? await lookAtCertificate(route, signal) : null;
  return explainRefusal(route, error, refused, clock);
}

function judgeCertificate(socket: Socket, clock: Clock): Verdict {
  if (!(socket instanceof TLSSocket)) return ok("not used");
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return ok(socket.getProtocol() ?? "TLS");
  const days = Math.floor((Date.parse(certificate.validTo) - clock.wallMs()) / DAY_MS);
  const what = `${socket.getProtocol()}, issued by ${issuerOf(certificate)}, valid until ${day(certificate.validTo)}`;
  return days < SHORT_VALIDITY_DAYS ? warn(`${what}: ${days} days left`, "have the service renew it") : ok(what);
}

function explainRefusal(
  { url, caFile }: Route,
  error: TransportError,
  certificate: X509Certificate | null,
  clock: Clock,
): Verdict {
  const no = (what: string, remedy: string) => fail(EXIT.unreachable, what, remedy);
  const host = hostOf(url);
  if (certificate !== null && error.code === OTHER_AUTHORITY) {
    const what = `the certificate comes from ${issuerOf(certificate)}, which is not among the authorities in ${caFile ?? ""}`;
    const remedy =
      "put that authority's certificate (PEM) into this file, or name another one as service.ca_file; or have the service send its whole chain, if it is an intermediate";
    return { ...no(what, remedy), isAboutAuthority: true };
  }
  if (isOwnMistake(error)) return { ...no(error.message, "correct service.ca_file"), isAboutAuthority: true };
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
    return { ...no(what, remedy), isAboutAuthority: true };
  }
  if (certificate !== null && error.code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const what = `the certificate is for ${namesOf(certificate)}, not for ${host}`;
    return no(what, "use one of those names in service.url, or have the certificate issued for this one");
  }
  return no(error.message, `inspect the connection: openssl s_client -connect ${url.hostname}:${portOf(url)}`);
}

function isOwnMistake({ code }: TransportError): boolean {
  return code?.startsWith("CA_FILE_") === true;
}

/**
 * Fetches the certificate that was refused, for its names and dates.
 *
 * This connection is made without verification. Nothing is written to it, and it ends with the handshake.
 */
async function lookAtCertificate({ url, proxy }: Route, signal: AbortSignal): Promise<X509Certificate | null> {
  const opened = await openUntilTls({ url, proxy, certificates: undefined }, signal).catch(() => null);
  if (opened === null) return null;
  const host = hostOf(url);
  const socket = connectTls({
    socket: opened,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: false,
  });
  try {
    await once(socket, "secureConnect", { signal });
    return socket.getPeerX509Certificate() ?? null;
  } catch {
    signal.throwIfAborted();
    return null;
  } finally {
    socket.destroy();
  }
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
