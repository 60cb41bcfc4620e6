import { once } from "node:events";
import { chmodSync, existsSync, unlinkSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createConnection } from "node:net";
import { dirname } from "node:path";

import { errorCode, systemFiles } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Agent } from "../agent.ts";
import type { StatusDocument } from "../status.ts";
import { renderMetrics } from "./metrics.ts";

export type ControlledAgent = Pick<Agent, "status" | "register" | "confirm" | "rebind" | "enroll" | "reload">;

/** Owner and group may use the socket. Write access allows triggering a registration (see `rebind`), and an enrolment, which an operator decides. */
const SOCKET_MODE = 0o660;
const CONNECTION_LIMIT = 32;
/** A client that does not send its request, or read its answer, within this time is disconnected. */
const CLIENT_LIMIT_MS = 10_000;
/** node:http would wake for each check of its own for slow clients. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * The running agent on a unix socket: GET /status /healthz /readyz /metrics, POST /reload /register /confirm /rebind /enroll.
 *
 * The agent works without it; commands that need the socket do not.
 */
export function createControlSocket(path: string, log: Log, clientLimitMs = CLIENT_LIMIT_MS) {
  let listening: AsyncDisposable | null = null;
  let opening: Promise<void> | null = null;
  let hasFailed = false;

  async function tryOpening(agent: ControlledAgent): Promise<void> {
    try {
      await listening?.[Symbol.asyncDispose]();
      listening = null;
      listening = await listen(agent, path, clientLimitMs);
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
async function listen(agent: ControlledAgent, path: string, clientLimitMs: number): Promise<AsyncDisposable> {
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    // The agent may work for minutes.
    request.socket.setTimeout(0);
    const { status, type, body } = await answerTo(agent, `${request.method ?? ""} ${request.url ?? ""}`);
    request.socket.setTimeout(clientLimitMs);
    response.writeHead(status, {
      "content-type": type,
      "content-length": Buffer.byteLength(body),
      connection: "close",
    });
    response.end(body);
  }

  const server = createServer({ connectionsCheckingInterval: NEVER_MS }, (...exchange) => void respond(...exchange));
  server.maxConnections = CONNECTION_LIMIT;
  server.timeout = clientLimitMs;
  // The answers to thousands of pipelined requests would all be kept in memory.
  server.maxRequestsPerSocket = 1;
  server.on("dropRequest", (_request, socket) => socket.destroy());
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
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Removes the socket file of a killed daemon. This process has the state lock, so a socket that refuses connections is stale. */
async function removeStaleSocket(path: string): Promise<void> {
  const connection = createConnection(path);
  try {
    await once(connection, "connect");
  } catch (error) {
    if (errorCode(error) === "ECONNREFUSED") unlinkSync(path);
  } finally {
    connection.destroy();
  }
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Answers GET requests from memory, and POST requests once the agent has done what they ask for. */
async function answerTo(agent: ControlledAgent, asked: string): Promise<Answer> {
  switch (asked) {
    case "GET /status":
      return json(200, agent.status());
    case "GET /healthz":
      return json(200, { status: "ok" });
    case "GET /readyz": {
      const { healthy, state, summary } = agent.status();
      return json(healthy ? 200 : 503, { ready: healthy, state, summary });
    }
    case "GET /metrics":
      return { status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body: renderMetrics(agent.status()) };
    case "POST /register":
      return outcome(await agent.register());
    case "POST /confirm":
      return outcome(await agent.confirm());
    case "POST /rebind": {
      const status = await agent.rebind();
      return status === null
        ? json(409, { detail: "the registration is still in the state directory" })
        : outcome(status);
    }
    case "POST /enroll":
      return json(200, await agent.enroll());
    case "POST /reload": {
      const reload = await agent.reload();
      return json(reload.reloaded ? 200 : 422, reload);
    }
    default:
      return json(404, { detail: `no ${asked} here` });
  }
}

function outcome(status: StatusDocument): Answer {
  return json(status.healthy ? 200 : 503, status);
}

function json(status: number, body: unknown): Answer {
  return { status, type: "application/json", body: `${JSON.stringify(body)}\n` };
}
