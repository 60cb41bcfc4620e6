import { once } from "node:events";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";

import { errorCode } from "../../../platform/files/files.ts";
import type { Problem } from "../../../platform/terminal.ts";
import type { ListenAddress } from "../../kernel/connections/listen-address.ts";
import { listenProblem } from "../../start-problem.ts";

/** Whether this process can listen on an address. `taken`: a program listens there, perhaps the service itself. */
export type ListenTrial =
  | { readonly state: "free" }
  | { readonly state: "taken" }
  | { readonly state: "refused"; readonly problem: Problem };

/** Listens on the address for a moment, and closes every connection. */
export async function tryListen(listen: ListenAddress): Promise<ListenTrial> {
  const server = createServer((socket) => socket.destroy());
  try {
    server.listen({ ...listen, exclusive: true });
    await once(server, "listening");
    // Fastify calls it for this address; it may fail in a sandbox.
    if (listen.host === "0.0.0.0") networkInterfaces();
    return { state: "free" };
  } catch (error) {
    if (errorCode(error) === "EADDRINUSE") return { state: "taken" };
    const problem = listenProblem(error, listen);
    if (problem === null) throw error;
    return { state: "refused", problem };
  } finally {
    server.close();
  }
}
