import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";

import type { HttpLimits, Limit } from "../traffic/limits.ts";
import { shareConnections } from "./share-connections.ts";
import { type CertificatePair, TLS_CIPHERS, TLS_MINIMUM } from "./tls.ts";

const FIRST_BYTES = 16 * 1024;

/** The HTTP server beneath the web framework, plain or over TLS, within its limits. */
export interface Listener {
  readonly scheme: "http" | "https";
  /** For the framework; called once. */
  create(handle: RequestListener): Server | TlsServer;
  /** Uses this certificate for new connections. Does nothing without TLS. */
  setCertificate(pair: CertificatePair): void;
}

export function createListener(
  limits: HttpLimits,
  certificate: CertificatePair | null,
  limitMet: (limit: Limit) => void,
): Listener {
  const options = {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    maxHeaderSize: limits.headerBytes,
    // Node would answer without a body; server.ts refuses requests without a Host header.
    requireHostHeader: false,
    // A waiting request reads no more than its first chunk, up to 64 KiB.
    highWaterMark: FIRST_BYTES,
  };
  let tlsServer: TlsServer | null = null;

  function bound<T extends Server | TlsServer>(server: T, handle: RequestListener): T {
    const connections = { all: limits.connections, ofAddress: limits.connectionsOfAddress };
    shareConnections(server, connections, limitMet);
    server.setTimeout(limits.idleTimeoutMs);
    // Node would ask for the body before anything is known about the client; the operation asks for it once the request is admitted.
    server.on("checkContinue", handle).on("checkExpectation", handle);
    return server;
  }

  return {
    scheme: certificate === null ? "http" : "https",
    create(handle) {
      if (certificate === null) return bound(createServer(options, handle), handle);
      tlsServer = createTlsServer(
        // A silent client has as long for the handshake as for the headers.
        { ...options, ...contextOf(certificate), handshakeTimeout: limits.headersTimeoutMs },
        handle,
      );
      return bound(tlsServer, handle);
    },
    setCertificate: (pair) => tlsServer?.setSecureContext(contextOf(pair)),
  };
}

function contextOf({ cert, key }: CertificatePair) {
  return { cert, key, ciphers: TLS_CIPHERS, minVersion: TLS_MINIMUM } as const;
}
