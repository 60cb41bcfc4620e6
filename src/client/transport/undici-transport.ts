import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files/files.ts";
import { loadLate } from "./load-late.ts";
import type { Environment } from "./proxy.ts";
import type { Transport } from "./transport.ts";

export interface UndiciTransportOptions {
  /** PEM file of certificate authorities to trust beside the usual ones; null for none. Read anew for each connection. */
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
 * The transport over undici, sockets and TLS. All of it is loaded by the first request: a robot whose configuration did
 * not change never makes one.
 *
 * Each request has a connection of its own, gone when the answer is read.
 */
export function createUndiciTransport(options: UndiciTransportOptions): Transport {
  const closing = new AbortController();
  let sender: Promise<Transport["send"]> | null = null;

  function loaded(): Promise<Transport["send"]> {
    sender ??= load(options).catch((error: unknown) => {
      sender = null;
      throw error;
    });
    return sender;
  }

  return {
    async send(request, signal) {
      const send = await loaded();
      return send(request, AbortSignal.any([signal, closing.signal]));
    },
    prepare() {
      // The caller sets a timer first, which this would make 10 ms late. What fails now is told by the request.
      setImmediate(() => void loaded().catch(() => {}));
    },
    async close() {
      closing.abort();
    },
  };
}

async function load(options: UndiciTransportOptions): Promise<Transport["send"]> {
  await loadLate(() => import("undici"));
  const { createSender } = await import("./sender.ts");
  return createSender(options);
}
