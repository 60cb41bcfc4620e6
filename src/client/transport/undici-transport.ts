import { loadLate } from "./load-late.ts";
import type { UndiciTransportOptions } from "./sender.ts";
import type { Transport } from "./transport.ts";

/**
 * The transport over undici, which the first request loads: a robot whose configuration did not change sends none.
 *
 * Each request has its own connection, which is closed after the answer.
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
      // Deferred, because loading would delay the caller's timer by 10 ms. A failure is reported by the request.
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
