import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A free TCP port of 127.0.0.1, for a server that starts and restarts on a fixed port.
 *
 * It is below the ephemeral range (ip_local_port_range) that the kernel uses for port 0 and for outgoing connections, so it stays free
 * while the server is stopped.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
