/** Longer addresses are mistakes; the limit keeps them out of messages and logs. */
const LONGEST_URL = 2048;

/** The name of this machine. */
export const LOCALHOST = "localhost";

export type ServiceUrl =
  | { readonly kind: "url"; readonly url: URL }
  | { readonly kind: "url-problem"; readonly code: ServiceUrlProblem; readonly what: string; readonly fix: string };

export type ServiceUrlProblem =
  | "url-invalid"
  | "url-scheme"
  | "url-insecure"
  | "url-credentials"
  | "url-query"
  | "url-versioned";

/**
 * Checks the base address of a service: https, or http where the key stays on this machine (loopback) or `allowInsecure` permits it. A path
 * is kept as a prefix. The messages contain no credential.
 */
export function parseServiceUrl(text: string, allowInsecure: boolean): ServiceUrl {
  const url = text.length > LONGEST_URL ? null : URL.parse(text);
  if (url === null) return problem("url-invalid", "is not a web address", "write it as https://HOST");
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return problem("url-scheme", `begins with ${url.protocol}`, "write it as https://HOST");
  }
  if (url.username !== "" || url.password !== "") {
    return problem(
      "url-credentials",
      "contains a user name or password",
      "remove it; the API key belongs in the key file",
    );
  }
  if (url.search !== "" || url.hash !== "") {
    return problem("url-query", "has a query or fragment", `write it as ${url.origin}${url.pathname}`);
  }
  if (/\/v1\/?$/.test(url.pathname)) {
    return problem("url-versioned", "ends in /v1, which every request adds", "leave out the /v1");
  }
  if (url.protocol === "http:" && !allowInsecure && !isLoopback(url.hostname)) {
    return problem("url-insecure", "would send the API key unencrypted", "use https, or set service.allow_insecure");
  }
  return { kind: "url", url };
}

/**
 * True for addresses of this machine (RFC 1122, RFC 4291) and for `localhost`, in the form `URL.hostname` gives. A resolver may give
 * `NAME.localhost` another address (RFC 6761 section 6.3 is only a "should"); `localhost` itself is never looked up (sender.ts).
 */
export function isLoopback(hostname: string): boolean {
  const name = hostname.replace(/\.$/, "");
  if (name === LOCALHOST || name === "[::1]") return true;
  // URL normalizes every notation of an IPv4 address (127.1, 0x7f000001) to this one.
  return /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

/** The name or address to connect to: as `URL.hostname`, without the brackets of an IPv6 address and the dot of a full name. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.+)\]$/, "$1").replace(/(?<=.)\.$/, "");
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

/** For `autoSelectFamilyAttemptTimeout`: Node gives up an address before it tries the next one, by default after 250 ms, too soon for a slow link. */
export function addressLimitMs(connectMs: number): number {
  return Math.ceil(connectMs / 3);
}

function problem(code: ServiceUrlProblem, what: string, fix: string): ServiceUrl {
  return { kind: "url-problem", code, what: `service address ${what}`, fix };
}
