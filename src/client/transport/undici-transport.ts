import type { UndiciTransportOptions } from "./sender.ts";
import type { Transport } from "./transport.ts";

/**
 * The transport over undici, which the first request loads: a robot whose configuration did not change sends none.
 *
 * Each request has its own connection, which is closed after the answer.
 */
export function createUndiciTransport(options: UndiciTransportOptions): Transport {
  const closing = new AbortController();
  let send: Transport["send"] | null = null;

  async function load(): Promise<Transport["send"]> {
    // Before the module that needs it: if no file descriptor is left to read it (EMFILE), this import can be repeated, but not that one.
    await import("undici");
    const { createSender } = await import("./sender.ts");
    send ??= createSender(options);
    return send;
  }

  return {
    async send(request, signal) {
      const sendNow = send ?? (await load());
      return sendNow(request, AbortSignal.any([signal, closing.signal]));
    },
    prepare() {
      // Deferred, because loading would delay the caller's timer by 10 ms. A failure is reported by the request.
      setImmediate(() => void load().catch(() => {}));
    },
    async close() {
      closing.abort();
    },
  };
}
