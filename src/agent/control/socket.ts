import { chmodSync, mkdirSync, unlinkSync } from "node:fs";
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { createConnection, createServer } from "node:net";
import { dirname } from "node:path";

import type { Clock } from "../../platform/clock.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Agent } from "../agent.ts";
import type { Bucket } from "./bucket.ts";
import { createBucket } from "./bucket.ts";
import { renderMetrics } from "./metrics.ts";

/** Owner and group may use the socket. Write access allows triggering a registration (see `rebind`), and an enrolment, which an operator decides. */
const SOCKET_MODE = 0o660;
/** A client that has not sent its request after this time is disconnected. */
const REQUEST_TIMEOUT_MS = 10_000;
const CONNECTION_LIMIT = 32;
/** Rate limit of requests that cause a request to the service, so that a script in a loop cannot flood it. */
const ASKED_BURST = 10;
const ASKED_REFILL_MS = 6000;
/** Bounds the answers that wait for a run of the agent. A client that disconnects does not end its wait. */
const WAITING_LIMIT = CONNECTION_LIMIT;

export type ControlledAgent = Pick<Agent, "status" | "register" | "confirm" | "rebind" | "enrol" | "reload">;

/**
 * Serves the running agent on a unix socket: GET /status /healthz /readyz /metrics, POST /reload /register /confirm /rebind /enroll.
 *
 * @throws Node system errors when the socket cannot be created, for example EACCES or ENOENT of its directory.
 */
export async function serveControlSocket(agent: ControlledAgent, path: string, clock: Clock): Promise<AsyncDisposable> {
  const connections = new Set<Socket>();
  let http: Promise<HttpServer> | null = null;

  async function accept(connection: Socket): Promise<void> {
    connections.add(connection);
    connection.on("error", () => {});
    connection.on("close", () => connections.delete(connection));
    http ??= openHttp(agent, clock);
    (await http).emit("connection", connection);
    connection.resume();
  }

  // Half-open as HTTP requires, and paused until the HTTP server is loaded.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (connection) => void accept(connection));
  server.maxConnections = CONNECTION_LIMIT;
  // Under systemd the directory exists (RuntimeDirectory=); when the agent is run by hand it may not.
  mkdirSync(dirname(path), { recursive: true });
  await removeStaleSocket(path);
  await listen(server, path);
  try {
    chmodSync(path, SOCKET_MODE);
  } catch (error) {
    server.close();
    throw error;
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const connection of connections) connection.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/**
 * An HTTP server that gets its connections by the event `connection`, as documented for `http.Server`. It is loaded with the first request,
 * because most robots never get one (saves 2 MB). It does not listen itself, because a listening `http.Server` wakes every few seconds to
 * check for slow clients.
 */
async function openHttp(agent: ControlledAgent, clock: Clock): Promise<HttpServer> {
  const http = await import("node:http");
  const control = { agent, clock, quota: createBucket(ASKED_BURST, ASKED_REFILL_MS), waiting: 0 };
  const served = new WeakSet<Socket>();
  const deadlines = new WeakMap<Socket, NodeJS.Timeout>();
  const server = http.createServer((request, response) => {
    const { socket } = request;
    // One request per connection: the answers to thousands of pipelined requests would all be kept in memory.
    if (served.has(socket)) {
      socket.destroy();
      return;
    }
    served.add(socket);
    clearTimeout(deadlines.get(socket));
    void answer(control, request, response);
  });
  server.on("connection", (connection: Socket) => {
    const deadline = setTimeout(() => connection.destroy(), REQUEST_TIMEOUT_MS);
    deadlines.set(connection, deadline);
    connection.on("close", () => clearTimeout(deadline));
  });
  return server;
}

/** The agent behind the socket, and the limits of its requests. */
interface Control {
  readonly agent: ControlledAgent;
  readonly clock: Clock;
  readonly quota: Bucket;
  waiting: number;
}

async function answer(control: Control, request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume();
  const { method = "", url = "" } = request;
  if (method !== "POST") return answerNow(control.agent, `${method} ${url}`, response);
  if (control.waiting >= WAITING_LIMIT) return refuse(response, "too many requests wait for the agent", 1);
  control.waiting += 1;
  try {
    await answerLater(control, `${method} ${url}`, response);
  } finally {
    control.waiting -= 1;
  }
}

/** Answers GET requests from memory. */
function answerNow(agent: ControlledAgent, asked: string, response: ServerResponse): void {
  switch (asked) {
    case "GET /status":
      return json(response, 200, agent.status());
    case "GET /healthz":
      return json(response, 200, { status: "ok" });
    case "GET /readyz": {
      const { healthy, state, summary } = agent.status();
      return json(response, healthy ? 200 : 503, { ready: healthy, state, summary });
    }
    case "GET /metrics":
      return send(response, 200, "text/plain; version=0.0.4; charset=utf-8", renderMetrics(agent.status()));
    default:
      return unknown(response, asked);
  }
}

/** These cause a request to the service each time. */
const REQUESTING: ReadonlySet<string> = new Set(["POST /register", "POST /confirm", "POST /rebind", "POST /enroll"]);

/** Runs a POST request. */
async function answerLater({ agent, clock, quota }: Control, asked: string, response: ServerResponse): Promise<void> {
  if (REQUESTING.has(asked)) {
    const waitMs = quota.untilMs() - clock.monotonicMs();
    if (waitMs > 0) return refuse(response, "asked too often", Math.ceil(waitMs / 1000));
    quota.take(clock.monotonicMs());
  }
  switch (asked) {
    case "POST /register": {
      const status = await agent.register();
      return json(response, status.healthy ? 200 : 503, status);
    }
    case "POST /confirm": {
      const status = await agent.confirm();
      return json(response, status.healthy ? 200 : 503, status);
    }
    case "POST /rebind": {
      const status = await agent.rebind();
      if (status === null) return json(response, 409, { detail: "the registration is still in the state directory" });
      return json(response, status.healthy ? 200 : 503, status);
    }
    case "POST /enroll":
      return json(response, 200, await agent.enrol());
    case "POST /reload": {
      const reload = await agent.reload();
      return json(response, reload.reloaded ? 200 : 422, reload);
    }
    default:
      return unknown(response, asked);
  }
}

function unknown(response: ServerResponse, asked: string): void {
  json(response, 404, { detail: `no ${asked} here` });
}

function refuse(response: ServerResponse, detail: string, retryAfterS: number): void {
  response.setHeader("retry-after", retryAfterS);
  json(response, 429, { detail, retry_after_s: retryAfterS });
}

function json(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, "application/json", `${JSON.stringify(body)}\n`);
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), connection: "close" });
  response.end(body);
  // A client that does not read its answer is disconnected, to free the connection.
  const deadline = setTimeout(() => response.destroy(), REQUEST_TIMEOUT_MS);
  response.on("close", () => clearTimeout(deadline));
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Removes the socket file of a killed daemon. This process has the state lock, so a socket that refuses connections is stale. */
async function removeStaleSocket(path: string): Promise<void> {
  if (await isAnswered(path)) return;
  try {
    unlinkSync(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = createConnection(path);
    connection.once("connect", () => {
      connection.destroy();
      resolve(true);
    });
    connection.once("error", () => resolve(false));
  });
}
