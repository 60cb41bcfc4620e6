import { once } from "node:events";
import { chmodSync, existsSync, unlinkSync } from "node:fs";
import type { Server as HttpServer } from "node:http";
import { createConnection, createServer, type Socket } from "node:net";
import { dirname } from "node:path";

import { errorCode, systemFiles } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import { answersOf, CLIENT_LIMIT_MS, type ControlledAgent } from "./answers.ts";

/** Owner and group may use the socket. Write access allows triggering a registration (see `rebind`), and an enrolment, which an operator decides. */
const SOCKET_MODE = 0o660;
const CONNECTION_LIMIT = 32;

/**
 * The running agent on a unix socket: GET /status /healthz /readyz /metrics, POST /reload /register /confirm /rebind /enroll.
 *
 * The agent works without it; commands that need the socket do not.
 */
export function createControlSocket(path: string, log: Log) {
  let listening: AsyncDisposable | null = null;
  let opening: Promise<void> | null = null;
  let hasFailed = false;

  async function tryOpening(agent: ControlledAgent): Promise<void> {
    try {
      await listening?.[Symbol.asyncDispose]();
      listening = null;
      listening = await listen(agent, path);
      if (hasFailed) log.info("control-socket-opened", { path });
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) log.warn("control-socket-failed", { path, code: errorCode(error) });
      hasFailed = true;
    } finally {
      opening = null;
    }
  }

  return {
    /** Opens the socket unless it is open and its file is there. Of failures in a row the first is logged; call again to retry. */
    async open(agent: ControlledAgent) {
      if (listening !== null && existsSync(path)) return;
      opening ??= tryOpening(agent);
      await opening;
    },
    async [Symbol.asyncDispose]() {
      await opening;
      await listening?.[Symbol.asyncDispose]();
    },
  };
}

/** @throws Node system errors when the socket cannot be created, for example EACCES or ENOENT of its directory. */
async function listen(agent: ControlledAgent, path: string): Promise<AsyncDisposable> {
  const connections = new Set<Socket>();
  let http: Promise<HttpServer> | null = null;

  async function accept(connection: Socket): Promise<void> {
    connections.add(connection);
    connection.on("error", () => {});
    connection.on("close", () => connections.delete(connection));
    http ??= openHttp(agent);
    (await http).emit("connection", connection);
    connection.resume();
  }

  // Half-open as HTTP requires, and paused until the HTTP server is loaded.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (connection) => void accept(connection));
  server.maxConnections = CONNECTION_LIMIT;
  // Under systemd the directory exists (RuntimeDirectory=); when the agent is run by hand it may not.
  await systemFiles.makeDirectory(dirname(path), 0o755);
  await removeStaleSocket(path);
  server.listen(path);
  await once(server, "listening");
  try {
    chmodSync(path, SOCKET_MODE);
  } catch (error) {
    server.close();
    throw error;
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const connection of connections) connection.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/**
 * An HTTP server that gets its connections by the event `connection`, as documented for `http.Server`. It is loaded with the first request,
 * because most robots never get one (saves 2 MB). It does not listen itself, because a listening `http.Server` wakes every few seconds to
 * check for slow clients.
 */
async function openHttp(agent: ControlledAgent): Promise<HttpServer> {
  const http = await import("node:http");
  const answer = answersOf(agent);
  /** When connections without a request are closed. */
  const deadlines = new WeakMap<Socket, NodeJS.Timeout>();
  const server = http.createServer((request, response) => {
    const { socket } = request;
    const deadline = deadlines.get(socket);
    // One request per connection: the answers to thousands of pipelined requests would all be kept in memory.
    if (deadline === undefined) {
      socket.destroy();
      return;
    }
    deadlines.delete(socket);
    clearTimeout(deadline);
    void answer(request, response);
  });
  server.on("connection", (connection: Socket) => {
    const deadline = setTimeout(() => connection.destroy(), CLIENT_LIMIT_MS);
    deadlines.set(connection, deadline);
    connection.on("close", () => clearTimeout(deadline));
  });
  return server;
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

async function isAnswered(path: string): Promise<boolean> {
  const connection = createConnection(path);
  try {
    await once(connection, "connect");
    return true;
  } catch {
    return false;
  } finally {
    connection.destroy();
  }
}
