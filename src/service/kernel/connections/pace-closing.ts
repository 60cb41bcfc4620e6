import type { Server, Socket } from "node:net";

import { createPace } from "../traffic/event-loop.ts";

/**
 * Closes a few connections in each turn of the event loop. A client may end all its connections at once, and the event loop reads all
 * their ends in one turn: closing 12,000 of them would hold it for 0.4 s.
 */
export function paceClosing(server: Server): void {
  const pace = createPace();
  server.on("connection", (socket: Socket) => {
    // The two steps of closing: the end of the answers, and the end of the socket. A stream waits for both (nodejs.org/api/stream.html).
    const { _final: final, _destroy: destroy } = socket;
    socket._final = (callback) => pace(() => final.call(socket, callback));
    socket._destroy = (error, callback) => pace(() => destroy.call(socket, error, callback));
  });
}
