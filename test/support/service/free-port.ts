import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A free TCP port of 127.0.0.1 for a server that is started, and started again, by number.
 *
 * It is below the ports that the kernel hands out (ip_local_port_range), to listeners on port 0 and to outgoing connections, so it stays free
 * while the server does not run.
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
