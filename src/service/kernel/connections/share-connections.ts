import type { Server, Socket } from "node:net";

import { readClientAddress } from "../traffic/client-address.ts";

export interface ConnectionLimits {
  readonly all: number;
  /** Of one address, or an IPv6 /48. Clients behind one proxy have one. */
  readonly ofAddress: number;
}

/**
 * Limits the connections of a server. When a new connection exceeds the limit, the address with the most connections loses its newest.
 */
export function shareConnections(
  server: Server,
  { all, ofAddress }: ConnectionLimits,
  onMet: (limit: "limits.connections" | "limits.connections_of_address") => void = () => {},
): void {
  const byAddress = new Map<string, Set<Socket>>();
  /** Addresses by their number of connections, to find the one with the most quickly. */
  const bySize: Set<string>[] = [];
  let most = 0;

  function move(address: string, from: number, to: number): void {
    bySize[from]?.delete(address);
    if (to > 0) (bySize[to] ??= new Set()).add(address);
    most = Math.max(most, to);
    while (most > 0 && (bySize[most]?.size ?? 0) === 0) most -= 1;
  }

  function remove(address: string, socket: Socket): void {
    const sockets = byAddress.get(address);
    if (sockets?.delete(socket) !== true) return;
    move(address, sockets.size + 1, sockets.size);
    if (sockets.size === 0) byAddress.delete(address);
    count -= 1;
  }

  let count = 0;
  server.prependListener("connection", (socket: Socket) => {
    // The client has disconnected already, and its address is unknown.
    if (socket.remoteAddress === undefined) return;
    const address = readClientAddress(socket.remoteAddress).site;
    const sockets = byAddress.get(address) ?? new Set();
    byAddress.set(address, sockets.add(socket));
    count += 1;
    move(address, sockets.size - 1, sockets.size);
    socket.once("close", () => remove(address, socket));
    const isGreedy = sockets.size > ofAddress;
    if (count <= all && !isGreedy) return;
    const [greediest] = isGreedy ? [address] : (bySize[most] ?? []);
    if (greediest === undefined) return;
    const newest = greediest === address ? socket : [...(byAddress.get(greediest) ?? [])].at(-1);
    if (newest === undefined) return;
    onMet(isGreedy ? "limits.connections_of_address" : "limits.connections");
    remove(greediest, newest);
    newest.destroy();
  });
}
