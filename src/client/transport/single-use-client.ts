import type { Socket } from "node:net";

import { Client } from "undici";

/** The maximum size of an answer's headers; undici closes the connection beyond it. */
const HEADERS_LIMIT_BYTES = 16_384;

/**
 * An undici client for one exchange over an open connection. It never connects again, because undici would do so without proxy and TLS.
 *
 * undici's timers are off, because they wake the process twice a second; limits.ts sets the limits.
 */
export function clientOn(socket: Socket, origin: URL): Client {
  let used = false;
  return new Client(origin.origin, {
    connect(_options, callback) {
      // Deferred, because undici calls this before it has updated its own state.
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
