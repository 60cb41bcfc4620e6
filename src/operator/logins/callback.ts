import { timingSafeEqual } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The result of a login, which the browser brings. */
export type LoginCallback = { readonly kind: "approved"; readonly code: string } | { readonly kind: "denied" };

/** A listener on this computer for the result of one login. */
interface CallbackListener extends AsyncDisposable {
  /** The service redirects the browser to this URL. */
  readonly url: string;
  /** Resolves once. Requests without the right `state` are ignored. */
  readonly callback: Promise<LoginCallback>;
}

const PATH = "/callback";
const LONGEST_CODE = 256;
const CONNECTIONS_LIMIT = 16;
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Listens on a free port of the loopback interface (RFC 8252 section 7.3).
 *
 * @param state unguessable: other programs and pages can reach the port too (RFC 6749 section 10.12).
 * @returns null where the port cannot be opened.
 */
export async function listenForCallback(state: string): Promise<CallbackListener | null> {
  const sockets = new Set<Socket>();
  const { promise: callback, resolve } = Promise.withResolvers<LoginCallback>();
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, maxHeaderSize: 8192 }, (request, response) => {
    request.resume();
    const url = URL.parse(request.url ?? "", "http://127.0.0.1");
    if (request.method !== "GET" || url?.pathname !== PATH) return answer(response, 404, NOTHING_HERE);
    if (!isSame(url.searchParams.get("state") ?? "", state)) return answer(response, 400, ANOTHER_LOGIN);
    const code = url.searchParams.get("code") ?? "";
    if (code !== "" && code.length <= LONGEST_CODE) {
      answer(response, 200, APPROVED);
      resolve({ kind: "approved", code });
    } else {
      answer(response, 200, DENIED);
      resolve({ kind: "denied" });
    }
  });
  server.maxConnections = CONNECTIONS_LIMIT;
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const isListening = await new Promise<boolean>((settle) => {
    server.once("error", () => settle(false));
    server.listen({ host: "127.0.0.1", port: 0 }, () => settle(true));
  });
  if (!isListening) return null;
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}${PATH}?state=${encodeURIComponent(state)}`,
    callback,
    async [Symbol.asyncDispose]() {
      // close() lets running responses finish, such as the page for the browser.
      server.close();
      server.closeIdleConnections();
      for (const socket of sockets) socket.unref();
    },
  };
}

const NOTHING_HERE = "There is nothing here.";
const ANOTHER_LOGIN = "This belongs to another login. Start again in the terminal.";
const APPROVED = "The login is approved. Close this page and return to the terminal.";
const DENIED = "The login was denied. Close this page and return to the terminal.";

function answer(response: ServerResponse, status: number, sentence: string): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    connection: "close",
  });
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
      `<meta name="color-scheme" content="light dark"><title>robot-policy</title>` +
      `<body style="font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem">` +
      `<h1 style="font-size:1.25rem">robot-policy</h1><p>${sentence}</p></body></html>`,
  );
}

function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
