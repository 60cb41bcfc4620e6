import type { Server, Socket } from "node:net";

import { areConnectionsComing, nextTurn } from "../traffic/let-others-in.ts";
import { identifyClient } from "../traffic/parties.ts";
import { createTurns } from "../traffic/turns.ts";

/** So many that connect together are read from at once: few sites have more clients that connect in the same moment. */
const BEGUN_AT_ONCE = 32;
/** Of more, so many are read from in one turn of the event loop. Of each up to 64 KiB are read, and its request is begun. */
const BEGUN_IN_TURN = 4;

/**
 * Reads from new connections a few at a time, their addresses in turn. The event loop accepts one connection in a turn (let-others-in.ts): if
 * it also read from all that a flood has opened, everybody who connects would wait seconds to be accepted.
 *
 * @param event when requests can be read from a connection.
 */
export function paceConnections(server: Server, event: "connection" | "secureConnection"): void {
  const turns = createTurns({ own: Number.POSITIVE_INFINITY, all: Number.POSITIVE_INFINITY });
  let waiting = 0;
  let left = BEGUN_AT_ONCE;

  async function begin(): Promise<void> {
    if (left === 0) {
      await nextTurn();
      left = BEGUN_IN_TURN;
    }
    left -= 1;
    waiting -= 1;
    if (waiting === 0 && !areConnectionsComing()) left = BEGUN_AT_ONCE;
  }

  server.on(event, (socket: Socket) => {
    let isHeld = true;
    // Node starts to read in the same turn.
    socket.once("resume", () => {
      if (isHeld) socket.pause();
    });
    waiting += 1;
    void turns.take(identifyClient(undefined, socket.remoteAddress ?? "").site, async () => {
      await begin();
      isHeld = false;
      socket.resume();
    });
  });
}
