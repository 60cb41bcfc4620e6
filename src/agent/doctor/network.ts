import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

import type { Proxy } from "../../client/transport/proxy.ts";
import { hostOf, portOf } from "../../client/transport/service-url.ts";
import { ADDRESS_LIMIT, connectToFirst } from "../../platform/connect-tcp.ts";
import { errorCode } from "../../platform/files/files.ts";
import { EXIT } from "../../platform/terminal.ts";
import { type Examined, fail, type Limit, ok } from "./check.ts";

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

type Resolve = (host: string, options: { readonly all: true }) => Promise<readonly LookupAddress[]>;

/** Checks that the name has addresses. @param resolve the system's resolver. */
export async function checkDns(
  { host, setting }: Hop,
  resolve: Resolve = lookup,
): Promise<Examined<readonly string[]>> {
  if (isIP(host) !== 0) return { verdict: ok(`${host} is an address, no name`), value: [host] };
  try {
    const found = await resolve(host, { all: true });
    const addresses = [...new Set(found.map(({ address }) => address))].slice(0, ADDRESS_LIMIT);
    return { verdict: ok(`${host} is ${addresses.join(", ")}`), value: addresses };
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
export async function checkTcp(hop: Hop, addresses: readonly string[], signal: AbortSignal): Promise<Examined<true>> {
  const { host, port } = hop;
  try {
    const socket = await connectToFirst(addresses, port, signal);
    const address = socket.remoteAddress ?? host;
    socket.destroy();
    return { verdict: ok(`${address} port ${port} accepts connections`), value: true };
  } catch (error) {
    signal.throwIfAborted();
    const code = errorCode(error) ?? "unknown";
    return fail(EXIT.unreachable, `cannot connect to ${host} port ${port} (${code})`, tcpRemedy(code, hop));
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
