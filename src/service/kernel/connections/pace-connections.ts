import type { Server, Socket } from "node:net";

import { areConnectionsArriving, createPace, nextTurn } from "../traffic/event-loop.ts";
import { identifyClient } from "../traffic/parties.ts";
import { createFairQueue } from "../traffic/fair-queue.ts";

/** Connections begun without a pause: few sites have more clients that connect at the same moment. */
const BEGUN_AT_ONCE = 32;
/** Connections beyond those that begin in one turn of the event loop: each is read from, which begins a request or a TLS handshake. */
const BEGUN_IN_TURN = 4;
/** More than any client sends before the server has answered: one TLS record (RFC 8446, 5.1). */
const CLIENT_HELLO_BYTES = 5 + 2 ** 14;

/**
 * Begins a few new connections at a time, round-robin over their addresses. The event loop accepts one connection per turn
 * (event-loop.ts). If it also worked for all connections of a flood, other clients would wait seconds to be accepted.
 *
 * Call it for a new server, whose only listeners are those of Node.
 *
 * @param silentMs for TLS: a connection begins when its first bytes arrive, and is closed if none arrive for this long. A handshake that
 *   waits takes 40 KB more and ten times as long to close. Without it, connections begin at once.
 */
export function paceConnections(server: Server, silentMs: number | null = null): void {
  const queue = createFairQueue({ own: Number.POSITIVE_INFINITY, all: Number.POSITIVE_INFINITY });
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  // As the option of net.createServer, which the servers of node:http do not take: otherwise each connection reads up to 64 KiB while it waits.
  Object.assign(server, { pauseOnConnect: true });
  let waiting = 0;
  let left = BEGUN_AT_ONCE;

  async function turn(): Promise<void> {
    if (left === 0) {
      await nextTurn();
      left = BEGUN_IN_TURN;
    }
    left -= 1;
    waiting -= 1;
    if (waiting === 0) setImmediate(rest);
  }

  function rest(): void {
    if (waiting === 0 && !areConnectionsArriving()) left = BEGUN_AT_ONCE;
  }

  server.on("connection", (socket: Socket) => {
    // Node listens once the connection has begun; until then a disconnect would be an uncaught error.
    socket.on("error", ignore);
    if (silentMs === null) begin(socket);
    else awaitFirstBytes(socket, silentMs, () => begin(socket));
  });

  function begin(socket: Socket): void {
    waiting += 1;
    void queue.run(identifyClient(undefined, socket.remoteAddress ?? "").site, async () => {
      await turn();
      socket.off("error", ignore);
      if (socket.destroyed) return;
      for (const listener of listeners) Reflect.apply(listener, server, [socket]);
      socket.resume();
    });
  }
}

/** Node hands what was read to the TLS connection. */
function awaitFirstBytes(socket: Socket, silentMs: number, begin: () => void): void {
  const giveUp = () => void socket.destroy();
  socket.setTimeout(silentMs, giveUp);
  socket.once("readable", () => {
    socket.setTimeout(0, giveUp);
    const { readableLength: bytes } = socket;
    if (bytes === 0 || bytes > CLIENT_HELLO_BYTES) giveUp();
    else begin();
  });
}

function ignore(): void {}

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
