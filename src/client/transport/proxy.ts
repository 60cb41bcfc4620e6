import { BlockList, isIP } from "node:net";

import { Secret } from "../secret.ts";
import { hostOf, isLoopback, portOf } from "./service-url.ts";

/** The value of `proxy` for no proxy, even if the environment names one. */
export const DIRECT = "none";

/** Environment variables by name; undefined where one is not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface ProxySettings {
  /** Address of a proxy, `none`, or null for what the environment says (HTTPS_PROXY, HTTP_PROXY, either case). */
  readonly proxy: string | null;
  /** Also has NO_PROXY, which exempts hosts from `proxy` too, as with curl and git. */
  readonly environment: Environment;
  readonly allow_insecure: boolean;
}

export interface Proxy {
  readonly kind: "proxy";
  /** Without credentials. */
  readonly url: URL;
  /** Value of Proxy-Authorization, from the user name and password in the address (RFC 7617). */
  readonly authorization: Secret | null;
}

export interface ProxyProblem {
  readonly kind: "proxy-problem";
  readonly code: "PROXY_URL" | "PROXY_SCHEME" | "PROXY_INSECURE";
  /** Does not contain the address, which may have a password. */
  readonly what: string;
}

/** Chooses the proxy of a request to `url`, without looking up names. */
export function chooseProxy(settings: ProxySettings, url: URL): Proxy | ProxyProblem | { readonly kind: "direct" } {
  const { environment, proxy } = settings;
  const unprotected = url.protocol === "http:" && !settings.allow_insecure;
  // Plain HTTP to this machine is allowed because nothing leaves it; a proxy from the environment must not change that.
  if (proxy === null && unprotected && isLoopback(url.hostname)) return { kind: "direct" };

  const address = proxy ?? fromEnvironment(environment, url.protocol === "https:" ? "https_proxy" : "http_proxy");
  if (address === "" || address === DIRECT) return { kind: "direct" };
  if (isExempt(fromEnvironment(environment, "no_proxy"), hostOf(url), portOf(url))) return { kind: "direct" };

  const parsed = parseProxy(address);
  if (parsed.kind === "proxy" && unprotected && !isLoopback(parsed.url.hostname)) {
    return problem("PROXY_INSECURE", "would see the API key, because the service address is plain http");
  }
  return parsed;
}

/** Parses the address of a proxy; one without a scheme is http, as with curl. */
export function parseProxy(address: string): Proxy | ProxyProblem {
  const text = address.trim();
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (url === null || url.hostname === "") return problem("PROXY_URL", "has an address that cannot be read");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return problem("PROXY_SCHEME", "is neither an http nor an https proxy");
  }
  const authorization = basicAuthorization(url.username, url.password);
  if (authorization === undefined)
    return problem("PROXY_URL", "has a user name or password that is wrongly percent-encoded");
  url.username = "";
  url.password = "";
  return { kind: "proxy", url, authorization };
}

/** Lower case first, as curl does. */
function fromEnvironment(environment: Environment, name: string): string {
  return (environment[name] || environment[name.toUpperCase()] || "").trim();
}

/** Null without credentials, undefined when they cannot be decoded. */
function basicAuthorization(username: string, password: string): Secret | null | undefined {
  if (username === "" && password === "") return null;
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return new Secret(`Basic ${Buffer.from(pair, "utf8").toString("base64")}`);
  } catch {
    return undefined;
  }
}

function problem(code: ProxyProblem["code"], what: string): ProxyProblem {
  return { kind: "proxy-problem", code, what: `proxy ${what}` };
}

/**
 * True when NO_PROXY exempts the host. Entries are separated by commas or spaces: `*` for all, a host and everything
 * under it (`example.com`, `.example.com`), only what is under it (`*.example.com`), an address, or a network
 * (`10.0.0.0/8`, `fd00::/8`); each but the networks with an optional port. Names are not resolved to compare them
 * with networks. There is no standard; this is what curl and Go's x/net/http/httpproxy agree on.
 *
 * @param host name or address, an IPv6 address without brackets.
 */
export function isExempt(noProxy: string, host: string, port: number): boolean {
  return noProxy
    .split(/[\s,]+/)
    .some((entry) => entry !== "" && matches(entry.toLowerCase(), host.toLowerCase(), port));
}

function matches(entry: string, host: string, port: number): boolean {
  const network = /^(?<address>[^/]+)\/(?<bits>\d{1,3})$/.exec(entry)?.groups;
  if (network !== undefined) return isInNetwork(host, network["address"] ?? "", Number(network["bits"]));

  const { name, onlyPort } = split(entry);
  if (onlyPort !== null && onlyPort !== port) return false;
  if (name === "*") return true;
  if (isIP(name) !== 0) return isInNetwork(host, name, isIP(name) === 4 ? 32 : 128);
  if (name.startsWith("*.")) return host.endsWith(name.slice(1));
  const domain = name.replace(/^\./, "").replace(/\.$/, "");
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

/** Splits `host:port` and `[address]:port`; an IPv6 address without brackets has colons and no port. */
function split(entry: string): { name: string; onlyPort: number | null } {
  const parts = /^(?:\[(?<address>[^\]]+)\]|(?<name>[^:]+))(?::(?<port>\d{1,5}))?$/.exec(entry)?.groups;
  if (parts === undefined) return { name: entry, onlyPort: null };
  const port = parts["port"];
  return { name: parts["address"] ?? parts["name"] ?? entry, onlyPort: port === undefined ? null : Number(port) };
}

/** Compares addresses by value, so that their notation does not matter. */
function isInNetwork(host: string, address: string, bits: number): boolean {
  const family = isIP(address);
  if (family === 0 || isIP(host) !== family || bits > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const network = new BlockList();
  network.addSubnet(address, bits, type);
  return network.check(host, type);
}
