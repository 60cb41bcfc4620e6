import type { Socket } from "node:net";

import type { Proxy } from "./proxy.ts";
import { hostOf, portOf } from "./service-url.ts";
import { clientOn } from "./single-use-client.ts";
import { TransportError } from "./transport.ts";

/**
 * Asks the proxy at the other end of `socket` for a connection to `target` (CONNECT, RFC 9110 section 9.3.6).
 *
 * undici's ProxyAgent would do the same, but tells neither which status refused it nor takes a signal.
 *
 * @throws TransportError with reason `proxy`, or the signal's.
 */
export function openTunnel(socket: Socket, proxy: Proxy, target: URL, signal: AbortSignal): Promise<Socket> {
  const authority = `${target.hostname.includes(":") ? target.hostname : hostOf(target)}:${portOf(target)}`;
  const client = clientOn(socket, proxy.url);
  const refused = (code: string, why: string) => new TransportError("proxy", code, `proxy ${proxy.url.host} ${why}`);
  return new Promise<Socket>((resolve, reject) => {
    const giveUp = (error: TransportError) => {
      socket.destroy();
      reject(error);
    };
    const onAbort = () => giveUp(signal.reason);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    const settle = (act: () => void) => {
      signal.removeEventListener("abort", onAbort);
      act();
    };
    client.dispatch(
      {
        method: "CONNECT",
        path: authority,
        headers: {
          host: authority,
          ...(proxy.authorization === null ? {} : { "proxy-authorization": proxy.authorization.reveal() }),
        },
      },
      {
        // undici checks that there are handlers for what a CONNECT may lead to.
        onRequestStart() {},
        onRequestUpgrade(_controller, status) {
          settle(() => {
            if (status < 200 || status > 299) giveUp(refused(`HTTP_${status}`, explain(status)));
            // undici has let go of the socket; what follows on it is the service's.
            else resolve(socket);
          });
        },
        onResponseError() {
          settle(() => giveUp(refused("PROXY_NO_ANSWER", "broke off or is not an HTTP proxy")));
        },
      },
    );
  });
}

function explain(status: number): string {
  if (status === 407) return "wants a user name and password, or other ones (407)";
  if (status === 403) return "does not allow connections to this service (403)";
  return `cannot reach the service (${status})`;
}
