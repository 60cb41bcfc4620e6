import type { Socket } from "node:net";

import { Client } from "undici";

/** Bytes of an answer's headers; undici ends the connection beyond it. */
const HEADERS_LIMIT_BYTES = 16_384;

/**
 * An undici client for one exchange over a connection that is already there. It never opens another: undici would
 * otherwise connect again by itself, past proxy and TLS.
 *
 * Its own timers are off. They tick twice a second for as long as they live; limits.ts has better ones.
 */
export function clientOn(socket: Socket, origin: URL): Client {
  let used = false;
  return new Client(origin.origin, {
    connect(_options, callback) {
      // Not at once: undici calls this in the middle of its own bookkeeping.
      queueMicrotask(() => {
        if (used) {
          callback(Object.assign(new Error("connection lost"), { code: "ECONNRESET" }), null);
          return;
        }
        used = true;
        callback(null, socket);
      });
    },
    allowH2: false,
    maxHeaderSize: HEADERS_LIMIT_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
