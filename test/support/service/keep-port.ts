import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

/**
 * Closes a server that will listen on the same port of 127.0.0.1 again. Until then a connection bound to the port reserves it: the kernel
 * gives it to no server that listens on port 0.
 *
 * @param close resolves once the server is closed.
 */
export async function keepPort(port: number, close: () => Promise<void>): Promise<Disposable> {
  const peer = createServer().listen(0, "127.0.0.1");
  await once(peer, "listening");
  const { port: peerPort } = peer.address() as AddressInfo;
  await close();
  const connection = connect({ host: "127.0.0.1", port: peerPort, localAddress: "127.0.0.1", localPort: port });
  await once(connection, "connect");
  peer.close();
  return { [Symbol.dispose]: () => void connection.destroy() };
}
