import { once } from "node:events";
import { Agent, createServer, request as sendRequest } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";

/** What stands in front of replicas: gives each request to the next of them, whatever connection it came on. */
export interface RoundRobin extends AsyncDisposable {
  readonly url: string;
  /** How many requests each replica was given. */
  counts(): readonly number[];
}

/** Passes requests and answers through byte for byte, their headers as they were spelled. */
export async function startRoundRobin(replicas: readonly string[]): Promise<RoundRobin> {
  const agent = new Agent({ keepAlive: true });
  const counts = replicas.map(() => 0);
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const index = turn % replicas.length;
    turn += 1;
    counts[index] = (counts[index] ?? 0) + 1;
    forward(new URL(replicas[index] ?? ""), agent, incoming, outgoing);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The proxy listens on no TCP port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    counts: () => [...counts],
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await closed;
    },
  };
}

/** The request whole first, as proxies do that buffer: a replica that refuses it half-way is heard all the same. */
function forward({ hostname, port }: URL, agent: Agent, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const upstream = sendRequest({ hostname, port, method, path: url, headers: rawHeaders, agent });
    upstream.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders));
      answer.pipe(outgoing);
      answer.on("error", () => outgoing.destroy());
    });
    upstream.on("error", () => {
      // A replica that is gone, as proxies say it.
      if (!outgoing.headersSent) outgoing.writeHead(502).end();
    });
    outgoing.on("close", () => upstream.destroy());
    upstream.end(Buffer.concat(chunks));
  });
}

/** Without those that belong to the connection (RFC 9110, 7.6.1). */
function endToEnd(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2);
    if (/^(?:connection|keep-alive|transfer-encoding)$/i.test(name)) continue;
    kept.push(name, value);
  }
  return kept;
}
