import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files/files.ts";
import { exchange } from "./exchange.ts";
import { startLimits } from "./limits.ts";
import { chooseProxy, type Environment, type Proxy } from "./proxy.ts";
import { parseServiceUrl } from "./service-url.ts";
import { type Transport, TransportError } from "./transport.ts";
import { trustingConnector } from "./trusted-connection.ts";

export interface UndiciTransportOptions {
  /** PEM file of certificate authorities to trust in addition to the usual ones; null for none. An edit of it counts for the next connection. */
  readonly caFile: string | null;
  /** See `ProxySettings`. */
  readonly proxy: string | null;
  /** For HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and where the system's certificates are. */
  readonly environment: Environment;
  /** Allows plain http to other machines. */
  readonly allow_insecure: boolean;
  readonly files: Files;
  readonly clock: Clock;
}

/** The part of undici-transport.ts that is imported lazily. */
export function createSender(options: UndiciTransportOptions): Transport["send"] {
  const connect = trustingConnector(options.files, options.caFile, options.clock, options.environment);
  return async (request, signal) => {
    const url = safeUrl(request.url, options.allow_insecure);
    const proxy = proxyFor(url, options);
    using limits = startLimits(request.timeouts, options.clock, signal);
    const socket = await connect({ url, proxy }, limits.signal);
    limits.connected();
    // Awaited here: returning ends the time limits.
    return await exchange(socket, request, url.protocol === "http:" ? proxy : null, limits);
  };
}

/** Checks the URL of each request, so that no key is sent unencrypted whatever the configuration allows. */
function safeUrl(text: string, allowInsecure: boolean): URL {
  const url = new URL(text);
  // Only the origin: operations have paths and queries.
  const checked = parseServiceUrl(url.origin, allowInsecure);
  if (checked.kind === "url") return url;
  throw new TransportError("other", "SERVICE_URL", `${checked.what}; ${checked.fix}`);
}

function proxyFor(url: URL, options: UndiciTransportOptions): Proxy | null {
  const choice = chooseProxy(options, url);
  switch (choice.kind) {
    case "direct":
      return null;
    case "proxy":
      return choice;
    case "proxy-problem":
      throw new TransportError("proxy", choice.code, choice.what);
  }
}
