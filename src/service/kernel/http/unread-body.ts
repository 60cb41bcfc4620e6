import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** Reading the rest of a smaller body costs less than a new connection. Node reads this much at once, so it has often arrived with the headers. */
const READ_ANYWAY_BYTES = 64 * 1024;

/** Whether the request is answered before its body was read, and the body is too large to read and discard. */
export function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  const { "content-length": length, "transfer-encoding": coding } = headers;
  return coding !== undefined || Number(length ?? 0) > READ_ANYWAY_BYTES;
}

/**
 * Closes the connection after its answer without reading the rest of the body. Node would read a refused body to its end.
 *
 * Closing a connection with unread bytes resets it, and the reset can overtake the answer (RFC 9112, 9.6). So only the sending side is
 * closed first, and the client has some time to read the answer, as in Go's net/http. Bytes that arrive meanwhile stay in the kernel's
 * bounded receive buffer.
 */
export function closeUnread(socket: Socket, lingerMs: number): void {
  // Called by Node when the answer is written.
  socket.destroySoon = () => {
    socket.end();
    socket.pause();
    // Node resumes it, to read the rest of the request.
    socket.on("resume", () => socket.pause());
    socket.setTimeout(lingerMs, () => socket.destroy());
  };
}
