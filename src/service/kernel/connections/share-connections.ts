import type { Server, Socket } from "node:net";

import { identifyClient } from "../traffic/parties.ts";

export interface ConnectionLimits {
  readonly all: number;
  /** Connections of one party: an address, or an IPv6 /48. Clients behind one proxy are one party. */
  readonly ofAddress: number;
}

/**
 * Limits the connections of a server. When a new connection exceeds the limit, the party with the most connections loses its newest.
 */
export function shareConnections(
  server: Server,
  { all, ofAddress }: ConnectionLimits,
  onMet: (limit: "limits.connections" | "limits.connections_of_address", party: string) => void = () => {},
): void {
  const parties = new Map<string, Set<Socket>>();
  /** Parties by their number of connections, to find the one with the most quickly. */
  const bySize: Set<string>[] = [];
  let most = 0;

  function move(party: string, from: number, to: number): void {
    bySize[from]?.delete(party);
    if (to > 0) (bySize[to] ??= new Set()).add(party);
    most = Math.max(most, to);
    while (most > 0 && (bySize[most]?.size ?? 0) === 0) most -= 1;
  }

  function remove(party: string, socket: Socket): void {
    const sockets = parties.get(party);
    if (sockets?.delete(socket) !== true) return;
    move(party, sockets.size + 1, sockets.size);
    if (sockets.size === 0) parties.delete(party);
    count -= 1;
  }

  let count = 0;
  server.prependListener("connection", (socket: Socket) => {
    // The client has disconnected already, and its address is unknown.
    if (socket.remoteAddress === undefined) return;
    const party = identifyClient(undefined, socket.remoteAddress).site;
    const sockets = parties.get(party) ?? new Set();
    parties.set(party, sockets.add(socket));
    count += 1;
    move(party, sockets.size - 1, sockets.size);
    socket.once("close", () => remove(party, socket));
    const isGreedy = sockets.size > ofAddress;
    if (count <= all && !isGreedy) return;
    const [greediest] = isGreedy ? [party] : (bySize[most] ?? []);
    if (greediest === undefined) return;
    const newest = greediest === party ? socket : [...(parties.get(greediest) ?? [])].at(-1);
    if (newest === undefined) return;
    onMet(isGreedy ? "limits.connections_of_address" : "limits.connections", greediest);
    remove(greediest, newest);
    newest.destroy();
  });
}
