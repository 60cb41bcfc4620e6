import type { Socket } from "node:net";

import type { Proxy } from "./proxy.ts";
import { proxyHeaders, refusal } from "./proxy.ts";
import { hostOf, portOf } from "./service-url.ts";
import { clientOn } from "./single-use-client.ts";
import { TransportError } from "./transport.ts";

/**
 * Asks the proxy at the other end of `socket` for a connection to `target` (CONNECT, RFC 9110 section 9.3.6).
 *
 * undici's ProxyAgent does the same, but reports the proxy's status only in its message, and does not return the connection, whose
 * certificate `doctor` examines.
 *
 * @throws TransportError with reason `proxy`, or the signal's.
 */
export async function openTunnel(socket: Socket, proxy: Proxy, target: URL, signal: AbortSignal): Promise<Socket> {
  const authority = `${target.hostname.includes(":") ? target.hostname : hostOf(target)}:${portOf(target)}`;
  const headers = { host: authority, ...proxyHeaders(proxy) };
  try {
    const { statusCode } = await clientOn(socket, proxy.url).connect({ path: authority, headers, signal });
    // undici has released the socket, which now leads to the service.
    if (statusCode >= 200 && statusCode <= 299) return socket;
    throw refusal(proxy, statusCode);
  } catch (error) {
    socket.destroy();
    if (error instanceof TransportError) throw error;
    throw new TransportError(
      "proxy",
      "PROXY_NO_ANSWER",
      `proxy ${proxy.url.host} closed the connection, or is not an HTTP proxy`,
    );
  }
}
