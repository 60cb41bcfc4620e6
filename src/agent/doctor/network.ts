import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, isIP } from "node:net";

import type { CallResult } from "../../client/call-result.ts";
import { codeOfFailure } from "../../client/transport/failure.ts";
import type { Proxy, ProxyProblem } from "../../client/transport/proxy.ts";
import { addressLimitMs, hostOf, portOf } from "../../client/transport/service-url.ts";
import { isUnknownIssuer, looksLikeClock } from "../../client/transport/transport.ts";
import { errorCode } from "../../platform/files/files.ts";
import { EXIT } from "../../platform/terminal.ts";
import { fail, type Found, type Limit, ok, skip, type Verdict } from "./check.ts";

/** The host that requests connect to: the service or the proxy. */
export interface Hop {
  readonly host: string;
  readonly port: number;
  readonly program: "service" | "proxy";
  /** Where its address is set. */
  readonly setting: string;
}

export function firstHop(url: URL, proxy: Proxy | null): Hop {
  if (proxy === null) return { host: hostOf(url), port: portOf(url), program: "service", setting: "service.url" };
  const variable = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const setting = `service.proxy, or ${variable} of the unit`;
  return { host: hostOf(proxy.url), port: portOf(proxy.url), program: "proxy", setting };
}

export function dnsLimit({ host }: Hop, limitMs: number): Limit {
  const what = `no name server answers for ${host} within ${limitMs / 1000} s`;
  return { limitMs, late: fail(EXIT.unreachable, what, "check the network and the name servers: resolvectl status") };
}

/** More addresses of one host are not shown and tried. */
const ADDRESS_LIMIT = 16;

type Resolve = (host: string, options: { readonly all: true }) => Promise<readonly LookupAddress[]>;

/** Checks that the name has addresses. @param resolve the system's resolver. */
export async function checkDns({ host, setting }: Hop, resolve: Resolve = lookup): Promise<Found<readonly string[]>> {
  if (isIP(host) !== 0) return { ...ok(`${host} is an address, no name`), value: [host] };
  try {
    const found = await resolve(host, { all: true });
    const addresses = [...new Set(found.map(({ address }) => address))].slice(0, ADDRESS_LIMIT);
    return { ...ok(`${host} is ${addresses.join(", ")}`), value: addresses };
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const remedy =
      code === "EAI_AGAIN"
        ? "check the network and the name servers: resolvectl status"
        : `check the spelling in ${setting}, or ask the network's administrator for the name`;
    return fail(EXIT.unreachable, `${host} has no address (${code})`, remedy);
  }
}

export function tcpLimit({ host, port }: Hop, limitMs: number): Limit {
  const what = `${host} port ${port} does not answer within ${limitMs / 1000} s`;
  return { limitMs, late: fail(EXIT.unreachable, what, `a firewall may drop it: allow TCP to ${host} port ${port}`) };
}

/** Checks that one of the addresses accepts connections, as requests do. Sends nothing. */
export async function checkTcp(
  hop: Hop,
  addresses: readonly string[],
  limitMs: number,
  signal: AbortSignal,
): Promise<Verdict> {
  const { host, port } = hop;
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const socket = connect({
    host,
    port,
    signal,
    autoSelectFamilyAttemptTimeout: addressLimitMs(limitMs),
    lookup: (_host, _options, answer) => answer(null, found),
  });
  try {
    await once(socket, "connect");
    return ok(`${socket.remoteAddress ?? host} port ${port} accepts connections`);
  } catch (error) {
    signal.throwIfAborted();
    const code = codeOfFailure(error) ?? "unknown";
    return fail(EXIT.unreachable, `cannot connect to ${host} port ${port} (${code})`, tcpRemedy(code, hop));
  } finally {
    socket.destroy();
  }
}

function tcpRemedy(code: string, { program, setting }: Hop): string {
  switch (code) {
    case "ECONNREFUSED":
      return `nothing listens there: check the port in ${setting}, and that the ${program} runs`;
    case "ENETUNREACH":
      return "there is no route: check cable, Wi-Fi and `ip route`";
    case "EHOSTUNREACH":
      return `no computer has this address in its network, or a router refuses: check that the ${program}'s computer is on`;
    default:
      return "check network and firewall";
  }
}

export function explainProxyProblem({ code, what }: ProxyProblem): Verdict {
  const remedy =
    code === "PROXY_INSECURE" ? "use https in service.url" : "write service.proxy or HTTPS_PROXY as http://HOST:PORT";
  return fail(EXIT.unreachable, what, remedy);
}

/**
 * Judges whether the proxy lets requests through; later errors belong to the other checks.
 *
 * @param isOfShell the environment of this command names the proxy.
 */
export function judgeProxy(proxy: Proxy | null, isOfShell: boolean, url: URL, result: CallResult<unknown>): Verdict {
  if (proxy === null) return ok("none is used for this service");
  if (result.kind === "unreachable") {
    if (result.code?.startsWith("CA_FILE_") === true) return skip("needs tls");
    if (result.reason === "proxy") return fail(EXIT.unreachable, result.detail, proxyRemedy(result.code));
  }
  const of = isOfShell ? "; this shell names it, for the agent service.proxy or its unit has to" : "";
  return ok(`${proxy.url.host} lets us through to ${url.host}${of}`);
}

export const NAME_AUTHORITY = "write that authority's certificate (PEM) to a file and set it as service.ca_file";
export const SET_CLOCK =
  "if the clock is wrong, set it: timedatectl; if it is right, the server has to renew its certificate";

function proxyRemedy(code: string | null): string {
  if (isUnknownIssuer(code)) return NAME_AUTHORITY;
  if (looksLikeClock(code)) return SET_CLOCK;
  return code === "HTTP_407"
    ? "put user name and password into service.proxy, or HTTPS_PROXY: http://USER:PASSWORD@HOST:PORT"
    : "check service.proxy, HTTPS_PROXY and NO_PROXY; `proxy: none` disables proxies";
}
