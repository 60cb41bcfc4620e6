import { once } from "node:events";
import { createServer } from "node:http";

/** Inference endpoints, each of which tests can make fail. */
export interface InferenceServer extends AsyncDisposable {
  readonly url: string;
  /** The health URL of the endpoint. */
  healthUrl(name: string): string;
  /** From now on, answers 503. */
  fail(name: string): void;
  /** From now on, answers 200, which is the default. */
  heal(name: string): void;
  /** From now on, answers after this delay. */
  delay(name: string, delayMs: number): void;
  /** Number of probes so far. */
  probes(name: string): number;
  /** Largest number of concurrent probes. */
  probesAtOnce(name: string): number;
}

/** One HTTP server for all endpoints. @param failing endpoints that fail from the start. */
export async function startInferenceServer(failing: readonly string[] = []): Promise<InferenceServer> {
  const down = new Set(failing);
  const delaysMs = new Map<string, number>();
  const probes = new Map<string, number>();
  const underway = new Map<string, number>();
  const most = new Map<string, number>();
  const server = createServer(({ url = "" }, response) => {
    const name = /^\/([^/]+)\/health$/.exec(url)?.[1] ?? "";
    probes.set(name, (probes.get(name) ?? 0) + 1);
    const now = (underway.get(name) ?? 0) + 1;
    underway.set(name, now);
    most.set(name, Math.max(now, most.get(name) ?? 0));
    response.on("close", () => underway.set(name, (underway.get(name) ?? 0) - 1));
    const answer = () => response.writeHead(down.has(name) ? 503 : 200).end("{}");
    const delayMs = delaysMs.get(name) ?? 0;
    if (delayMs === 0) answer();
    else setTimeout(answer, delayMs).unref();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const url = `http://127.0.0.1:${address.port}`;
  return {
    url,
    healthUrl: (name) => `${url}/${name}/health`,
    fail: (name) => void down.add(name),
    heal: (name) => void down.delete(name),
    delay: (name, delayMs) => void delaysMs.set(name, delayMs),
    probes: (name) => probes.get(name) ?? 0,
    probesAtOnce: (name) => most.get(name) ?? 0,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
