import type { Client } from "undici";

import type { Clock } from "../../platform/clock.ts";
import type { Proxy } from "./proxy.ts";

/** An open connection to a service, or to the proxy that forwards requests to it. */
export interface Connection {
  readonly client: Client;
  /** Of the service. */
  readonly origin: string;
  /** The proxy at its other end, if that forwards requests. */
  readonly forwarder: Proxy | null;
  /** Monotonic. */
  readonly openedMs: number;
  close(): void;
}

/** At most one connection, kept for a request that follows soon. It may break at any time: undici closes it, and its next request fails. */
export interface KeptConnection {
  /** Hands over the connection to this origin; null if there is none. */
  take(origin: string): Connection | null;
  /** Keeps this connection, in place of any other. */
  keep(connection: Connection): void;
}

/** The route and the certificate are examined when a connection is opened. This is how long a change of either may go unnoticed. */
const LONGEST_LIFE_MS = 10 * 60_000;

/** @param closing nothing is kept once it aborts. */
export function createKeptConnection(clock: Clock, closing: AbortSignal): KeptConnection {
  let kept: Connection | null = null;
  closing.addEventListener("abort", () => kept?.close(), { once: true });
  return {
    take(origin) {
      const taken = kept;
      kept = null;
      if (taken === null) return null;
      if (taken.origin === origin && clock.monotonicMs() - taken.openedMs < LONGEST_LIFE_MS) return taken;
      taken.close();
      return null;
    },
    keep(connection) {
      kept?.close();
      kept = connection;
      if (closing.aborted) connection.close();
    },
  };
}
