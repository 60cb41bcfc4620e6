import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

import type { Log } from "../../../platform/log/log.ts";
import { refuseUnreadable } from "../http/answers.ts";

type ConnectionError = Error & { readonly code?: string };

/**
 * Answers on the raw socket what Node's parser refused, because there is no request.
 *
 * @param owedTo finds the next answer to an earlier request of the connection, which is sent first.
 */
export function createConnectionRefusal(
  owedTo: (socket: Socket) => ServerResponse | undefined,
  newRequestId: () => string,
  log: Log,
): (error: ConnectionError, socket: Socket) => void {
  // Node reports each further part of the same garbage.
  const waiting = new WeakSet<Socket>();
  return ({ code }, socket) => {
    if (!waiting.has(socket)) refuseInTurn(code, socket);
  };

  function refuseInTurn(code: string | undefined, socket: Socket): void {
    const owed = owedTo(socket);
    if (owed === undefined) return refuse(code, socket);
    waiting.add(socket);
    owed.once("close", () => {
      waiting.delete(socket);
      // Otherwise the answer was the last one, and Node closes the connection.
      if (socket.writable) refuseInTurn(code, socket);
    });
  }

  function refuse(code: string | undefined, socket: Socket): void {
    if (code === "ECONNRESET" || isTlsFailure(code) || !socket.writable) {
      socket.destroy();
      return;
    }
    const [status, reason, detail] = refusalOf(code);
    const { json } = refuseUnreadable(status, detail);
    const requestId = newRequestId();
    log.debug("connection_refused", { request_id: requestId, status });
    const head = [
      `HTTP/1.1 ${status} ${reason}`,
      `date: ${new Date().toUTCString()}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(json)}`,
      `x-request-id: ${requestId}`,
      "connection: close",
    ];
    socket.end(`${head.join("\r\n")}\r\n\r\n${json}`);
  }
}

/** Whether the TLS handshake failed: then no answer can be sent. */
function isTlsFailure(code: string | undefined): boolean {
  return code !== undefined && (code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_"));
}

function refusalOf(code: string | undefined): readonly [status: number, reason: string, detail: string] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [431, "Request Header Fields Too Large", "The request headers are too large"];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "Request Timeout", "The request took too long to arrive"];
    default:
      return [400, "Bad Request", "The request is malformed"];
  }
}
