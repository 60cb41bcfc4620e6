import type { Server, Socket } from "node:net";

import { areConnectionsArriving, nextTurn } from "../traffic/event-loop.ts";
import { identifyClient } from "../traffic/parties.ts";
import { createFairQueue } from "../traffic/fair-queue.ts";

/** Connections read from without a pause: few sites have more clients that connect at the same moment. */
const BEGUN_AT_ONCE = 32;
/** Connections beyond those that are read from in one turn of the event loop. Each read takes up to 64 KiB and begins a request. */
const BEGUN_IN_TURN = 4;

/**
 * Reads from new connections a few at a time, round-robin over their addresses. The event loop accepts one connection per turn
 * (event-loop.ts). If it also read from all connections of a flood, other clients would wait seconds to be accepted.
 *
 * @param event the event after which requests can be read from a connection.
 */
export function paceConnections(server: Server, event: "connection" | "secureConnection"): void {
  const queue = createFairQueue({ own: Number.POSITIVE_INFINITY, all: Number.POSITIVE_INFINITY });
  let waiting = 0;
  let left = BEGUN_AT_ONCE;

  async function begin(): Promise<void> {
    if (left === 0) {
      await nextTurn();
      left = BEGUN_IN_TURN;
    }
    left -= 1;
    waiting -= 1;
    if (waiting === 0 && !areConnectionsArriving()) left = BEGUN_AT_ONCE;
  }

  server.on(event, (socket: Socket) => {
    let isHeld = true;
    // Node starts to read in the same turn.
    socket.once("resume", () => {
      if (isHeld) socket.pause();
    });
    waiting += 1;
    void queue.run(identifyClient(undefined, socket.remoteAddress ?? "").site, async () => {
      await begin();
      isHeld = false;
      socket.resume();
    });
  });
}
