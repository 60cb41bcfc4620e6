import { loadLate } from "./load-late.ts";
import type { UndiciTransportOptions } from "./sender.ts";
import type { Transport } from "./transport.ts";

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
