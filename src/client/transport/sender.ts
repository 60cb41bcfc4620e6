import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files/files.ts";
import { exchange } from "./exchange.ts";
import type { Connection } from "./kept-connection.ts";
import { createKeptConnection } from "./kept-connection.ts";
import type { Limits } from "./limits.ts";
import { startLimits } from "./limits.ts";
import type { Environment, Proxy } from "./proxy.ts";
import { chooseProxy } from "./proxy.ts";
import { parseServiceUrl } from "./service-url.ts";
import { clientOn } from "./one-connection-client.ts";
import type { HttpAnswer, HttpRequest, Transport } from "./transport.ts";
import { TransportError } from "./transport.ts";
import { trustingConnector } from "./trusted-connection.ts";

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

/**
 * The part of undici-transport.ts that is imported lazily.
 *
 * @param closing closes the kept connection.
 */
export function createSender(options: UndiciTransportOptions, closing: AbortSignal): Transport["send"] {
  const { clock } = options;
  const connect = trustingConnector(options.files, options.caFile);
  const kept = createKeptConnection(clock, closing);

  async function open(url: URL, limits: Limits): Promise<Connection> {
    const proxy = proxyFor(url, options);
    const socket = await connect({ url, proxy }, limits.signal);
    limits.connected();
    const forwarder = url.protocol === "http:" ? proxy : null;
    const client = clientOn(socket, forwarder?.url ?? url);
    const close = () => {
      socket.destroy();
      void client.destroy();
    };
    return { client, origin: url.origin, forwarder, openedMs: clock.monotonicMs(), close };
  }

  /** Keeps the connection, or closes it. */
  async function sendOver(connection: Connection, request: HttpRequest, limits: Limits): Promise<HttpAnswer> {
    let isKept = false;
    try {
      const answer = await exchange(connection, request, limits);
      isKept = request.keepsConnection === true && answer.complete;
      if (isKept) kept.keep(connection);
      return answer;
    } finally {
      if (!isKept) connection.close();
    }
  }

  /** @returns null when there is no such connection, or no answer. */
  async function sendOverKept(url: URL, request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer | null> {
    const connection = request.keepsConnection === true ? kept.take(url.origin) : null;
    if (connection === null) return null;
    // Its limit for connecting goes on: within that time an answer must show that the connection still stands.
    using limits = startLimits(request.timeouts, clock, signal);
    try {
      return await sendOver(connection, request, limits);
    } catch (error) {
      if (error instanceof TransportError) return null;
      throw error;
    }
  }

  return async (request, signal) => {
    const url = safeUrl(request.url, options.allow_insecure);
    const answer = await sendOverKept(url, request, signal);
    if (answer !== null) return answer;
    using limits = startLimits(request.timeouts, clock, signal);
    // Awaited here: returning ends the time limits.
    return await sendOver(await open(url, limits), request, limits);
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
