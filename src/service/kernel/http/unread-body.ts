import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** The rest of a smaller body costs less to read than a connection to make again. It often came with the headers: this much is read at once. */
const READ_ANYWAY_BYTES = 64 * 1024;

/** Whether an answer comes before a body that is too large to be read for nothing. */
export function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  const { "content-length": length, "transfer-encoding": coding } = headers;
  return coding !== undefined || Number(length ?? 0) > READ_ANYWAY_BYTES;
}

/**
 * Has a connection close after its answer, and reads no more of what its client sends. Node would read a refused body to its end.
 *
 * A connection that is closed with unread bytes is reset, and the reset can overtake the answer (RFC 9112, 9.6). So at first only our side is
 * closed, and the client has some time to read the answer, as in Go's net/http. What it sends meanwhile waits in the kernel, which has a bound.
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
