import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

import { fastify } from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sql } from "kysely";

import { operations } from "../../api/api.ts";
import type { OperationName } from "../../api/api.ts";
import type { OperationContext } from "../operations/operation.ts";
import { listOrganizationRobots, setupRobot } from "../operations/robots.ts";
import { StoreUnavailableError, unavailable } from "../store/unavailable.ts";
import { answerBroken, answerJson, refuse, refuseUnreadable } from "./answers.ts";
import type { Answer } from "./answers.ts";
import type { InFlight } from "./in-flight.ts";
import type { HttpLimits } from "./limits.ts";
import { mount, mountWithBody, send } from "./mount.ts";
import { createRequestId } from "./request-id.ts";
import { methodsAt } from "./routing.ts";

/** The operations this service has so far. */
const SERVED: readonly OperationName[] = ["setupRobot", "listRobots"];

/** Seconds a client is asked to wait when the store cannot write. */
const RETRY_AFTER_S = "5";
/** Characters of a path that go into the log. */
const LOGGED_PATH_LENGTH = 200;

/** What the end of the service and its requests know of each other. */
export interface Draining {
  readonly signal: AbortSignal;
  readonly in_flight: InFlight;
}

/** The service's HTTP side: routing, limits, and an answer in JSON whatever happens. */
export function createHttpServer(context: OperationContext, limits: HttpLimits, draining: Draining): FastifyInstance {
  const { log } = context.machine;
  const app = fastify({
    bodyLimit: limits.body_bytes,
    connectionTimeout: limits.idle_timeout_ms,
    keepAliveTimeout: limits.keep_alive_timeout_ms,
    requestTimeout: limits.request_timeout_ms,
    http: {
      headersTimeout: limits.headers_timeout_ms,
      connectionsCheckingInterval: limits.check_interval_ms,
      maxHeaderSize: limits.header_bytes,
      // Node would refuse without a body; nothing here depends on the host.
      requireHostHeader: false,
    },
    forceCloseConnections: "idle",
    return503OnClosing: false,
    genReqId: createRequestId(context.machine.random),
    clientErrorHandler: refuseConnection,
    frameworkErrors: (_error, request, reply) => {
      void send(reply.header("x-request-id", request.id), refuseUnreadable(400, "The request path is malformed"));
    },
  });
  app.server.maxConnections = limits.connections;
  app.server.on("checkExpectation", (_request, response: ServerResponse) => {
    const { status, json } = refuseUnreadable(417, "No expectation but 100-continue can be met");
    response.writeHead(status, { "content-type": "application/json", "content-length": json.length }).end(json);
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, bytes, done) => done(null, bytes));

  app.addHook("onRequest", async (request, reply) => {
    draining.in_flight.track(reply.raw);
    reply.header("x-request-id", request.id);
    // Here, before a body is read: a path that is nobody's takes none.
    if (request.is404) return send(reply, refuseRoute(request));
  });
  app.addHook("onSend", async (_request, reply) => {
    // A connection kept alive would hold up the end until its client thinks of something to ask.
    if (draining.signal.aborted) reply.header("connection", "close");
  });
  app.addHook("onResponse", async (request, reply) => {
    const { id: request_id, method } = request;
    const path = pathOf(request).slice(0, LOGGED_PATH_LENGTH);
    log.debug("request", {
      request_id,
      method,
      path,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime),
    });
  });
  app.setErrorHandler((error, request, reply) => send(reply, answerError(error, request)));

  function answerError(error: unknown, request: FastifyRequest): Answer {
    const cause = unavailable(error);
    if (cause instanceof StoreUnavailableError) {
      log.error("store_unavailable", { request_id: request.id, reason: cause.message });
      return refuse("Unavailable", "The service cannot reach its storage", { "retry-after": RETRY_AFTER_S });
    }
    const status = statusOf(error);
    if (status === 413) return refuse("PayloadTooLarge", `The body is larger than ${limits.body_bytes} bytes`);
    if (status !== null) return refuseUnreadable(status, "The request is malformed");
    log.error("request_failed", { request_id: request.id, path: pathOf(request), error: describe(error) });
    return answerBroken();
  }

  mountHealth(app, context, draining.signal);
  mountWithBody(app, context, operations.setupRobot, setupRobot(context));
  mount(app, context, operations.listRobots, listOrganizationRobots(context));
  return app;
}

/** /healthz: the process answers. /readyz: it is worth sending requests to. */
function mountHealth(app: FastifyInstance, { store }: OperationContext, stopping: AbortSignal): void {
  app.get("/healthz", (_request, reply) => send(reply, answerJson('{"status":"ok"}')));
  app.get("/readyz", async (_request, reply) => {
    if (stopping.aborted) return send(reply, refuse("Unavailable", "The service is stopping"));
    await sql`select 1`.execute(store.reader);
    return send(reply, answerJson('{"status":"ready"}'));
  });
}

function refuseRoute(request: FastifyRequest): Answer {
  const methods = methodsAt(pathOf(request), SERVED);
  if (methods.length === 0) return refuse("NotFound", "Not Found");
  return refuse("MethodNotAllowed", "Method Not Allowed", { allow: methods.join(", ") });
}

function pathOf(request: FastifyRequest | FastifyReply["request"]): string {
  return request.url.split("?", 1)[0] ?? "";
}

/** A status the framework chose for what the client did; null for what is our fault. */
function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !("statusCode" in error) || typeof error.statusCode !== "number") return null;
  return error.statusCode >= 400 && error.statusCode < 500 ? error.statusCode : null;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What Node's parser refused never became a request; it gets its answer on the bare connection. */
function refuseConnection(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason, detail] = connectionRefusal(error.code);
  const body = JSON.stringify({ detail });
  const head = `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body);
}

function connectionRefusal(code: string | undefined): readonly [number, string, string] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [431, "Request Header Fields Too Large", "The request headers are too large"];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "Request Timeout", "The request took too long to arrive"];
    default:
      return [400, "Bad Request", "The request is malformed"];
  }
}
