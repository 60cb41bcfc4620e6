import type { Socket } from "node:net";

import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files/files.ts";
import { readCaFile, trustedCertificates } from "./certificates.ts";
import type { Route } from "./connection.ts";
import { openConnection } from "./connection.ts";
import { exchange } from "./exchange.ts";
import { startLimits } from "./limits.ts";
import type { Environment, Proxy } from "./proxy.ts";
import { chooseProxy } from "./proxy.ts";
import { parseServiceUrl } from "./service-url.ts";
import type { Transport } from "./transport.ts";
import { isUnknownIssuer, TransportError } from "./transport.ts";

export interface UndiciTransportOptions {
  /** PEM file of certificate authorities to trust in addition to the usual ones; null for none. Read for each connection. */
  readonly caFile: string | null;
  /** See `ProxySettings`. */
  readonly proxy: string | null;
  /** For HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly environment: Environment;
  /** Allows plain http to other machines. */
  readonly allow_insecure: boolean;
  readonly files: Files;
  readonly clock: Clock;
}

/** The part of undici-transport.ts that is imported lazily. */
export function createSender(options: UndiciTransportOptions): Transport["send"] {
  let trustSystem = false;

  /** Opens the connection; reads the system's certificate store only if Node's does not know the issuer. */
  async function connect(url: URL, proxy: Proxy | null, signal: AbortSignal): Promise<Socket> {
    const extra = usesTls(url, proxy) ? await readAuthorities(options) : [];
    const open = (withSystem: boolean) => {
      const route: Route = { url, proxy, certificates: trustedCertificates(extra, withSystem) };
      return openConnection(route, signal);
    };
    try {
      return await open(trustSystem);
    } catch (error) {
      if (trustSystem || !(error instanceof TransportError) || !isUnknownIssuer(error.code)) throw error;
    }
    const socket = await open(true);
    trustSystem = true;
    return socket;
  }

  return async (request, signal) => {
    const url = safeUrl(request.url, options.allow_insecure);
    const proxy = proxyFor(url, options);
    using limits = startLimits(request.timeouts, options.clock, signal);
    const socket = await connect(url, proxy, limits.signal);
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

function usesTls(url: URL, proxy: Proxy | null): boolean {
  return url.protocol === "https:" || proxy?.url.protocol === "https:";
}

async function readAuthorities(options: UndiciTransportOptions): Promise<readonly string[]> {
  if (options.caFile === null) return [];
  const result = await readCaFile(options.files, options.caFile);
  if (result.kind === "ca-problem") throw new TransportError("tls", result.code, result.what);
  return result.certificates;
}
