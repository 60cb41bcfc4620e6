import type { IncomingMessage } from "node:http";

import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";

import { consoleMethodsAt, isForPage } from "../console/server/console-paths.ts";
import { mountConsole } from "../console/server/console.ts";
import { createConsoleFiles } from "../console/server/files.ts";
import type { Listener } from "./kernel/connections/listener.ts";
import { createConnectionRefusal } from "./kernel/connections/refuse-connection.ts";
import { type Answer, answerBroken, refuse, refuseUnavailable, refuseUnreadable } from "./kernel/http/answers.ts";
import { clientAddress } from "./kernel/http/arrival.ts";
import { decorate } from "./kernel/http/mount.ts";
import {
  createOutageLog,
  createRequestId,
  loggedPath,
  methodLabel,
  pathOf,
  routeLabel,
} from "./kernel/http/request-log.ts";
import { isMisread, methodsAt } from "./kernel/http/routing.ts";
import { closeUnread, hasUnreadBody, send } from "./kernel/http/send.ts";
import type { Metrics } from "./kernel/metrics.ts";
import { StoreBusyError, StoreUnavailableError, unavailable } from "./kernel/store/unavailable.ts";
import type { InFlight } from "./drain.ts";
import type { ServiceLimits } from "./limits.ts";
import { mountOperations, type OperationsContext } from "./operations.ts";
import { mountDescription, mountHealth } from "./own-paths.ts";

/** Connects the stopping of the service with its open requests. */
export interface Draining {
  readonly signal: AbortSignal;
  readonly inFlight: InFlight;
}

/** Options of the parts that answer requests. */
export interface HttpConfiguration {
  readonly limits: ServiceLimits;
  /** Whether /metrics answers. */
  readonly metrics: boolean;
  /** Log every request at info instead of debug. */
  readonly logRequests: boolean;
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  /** Folder of the built console; null serves none. */
  readonly consoleFolder: string | null;
}

interface HttpParts {
  readonly listener: Listener;
  readonly draining: Draining;
  readonly metrics: Metrics;
}

/** Headers of private answers: no cache may keep them (RFC 9111, 5.2.2.5), and no browser may take them for a page. */
const PRIVATE = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** The HTTP server of the service: routing, limits, and JSON answers to all errors. */
export function createHttpServer(
  context: OperationsContext,
  configuration: HttpConfiguration,
  { listener, draining, metrics }: HttpParts,
): FastifyInstance {
  const { log, random } = context.machine;
  const { limits, consoleFolder, trustedProxies } = configuration;
  const logRequest = configuration.logRequests ? log.info : log.debug;
  const tellOutage = createOutageLog(context.machine);
  const requestIdOf = createRequestId(random);
  const files = consoleFolder === null ? null : createConsoleFiles(consoleFolder, context.machine);
  const app = fastify({
    serverFactory: (handle) => listener.create(handle),
    bodyLimit: limits.bodyBytes,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // No own limit: a parameter that is too long is answered like any other unknown name.
    routerOptions: { maxParamLength: limits.headerBytes },
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    genReqId: requestIdOf,
    clientErrorHandler: createConnectionRefusal(draining.inFlight.owedTo, () => requestIdOf({ headers: {} }), log),
    frameworkErrors: (_error, request, reply) => {
      // No hook runs for such a path.
      leaveUnread(request.raw, reply);
      reply.raw.once("close", () => noteAnswered(request, reply));
      void send(
        reply.headers(PRIVATE).header("x-request-id", request.id),
        refuseUnreadable(400, "The request path is malformed"),
      );
    },
  });

  decorate(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, bytes, done) => done(null, bytes));

  app.addHook("onRequest", async (request, reply) => {
    draining.inFlight.track(reply.raw);
    reply.header("x-request-id", request.id);
    const path = pathOf(request);
    if (path.startsWith("/v1/")) reply.headers(PRIVATE);
    const unreadable = refuseHead(request);
    if (unreadable !== null) return send(reply.header("connection", "close"), unreadable);
    // Before the body is read: unknown paths accept none.
    if (request.is404 || isMisread(request.params, decoded(path))) return refusePath(request, reply);
  });
  app.addHook("onSend", ({ raw }, reply, payload, next) => {
    leaveUnread(raw, reply);
    // An idle keep-alive connection would delay the stop.
    if (draining.signal.aborted) reply.header("connection", "close");
    next(null, payload);
  });
  app.addHook("onResponse", (request, reply, next) => {
    noteAnswered(request, reply);
    next();
  });
  app.setErrorHandler((error, request, reply) => send(reply, answerError(error, request)));

  function noteAnswered(request: FastifyRequest, reply: FastifyReply): void {
    const { statusCode: status, elapsedTime: durationMs } = reply;
    const [method, route] = [methodLabel(request), routeLabel(request)];
    metrics.answered({ method, route, status, durationS: durationMs / 1000 });
    logRequest("request", {
      request_id: request.id,
      method: request.method,
      path: loggedPath(request),
      status,
      duration_ms: Math.round(durationMs),
      client: clientAddress(request),
    });
  }

  /** Closes the connection after the answer if the body was not read, because reading the rest may take long. */
  function leaveUnread(raw: IncomingMessage, reply: FastifyReply): void {
    if (!hasUnreadBody(raw)) return;
    reply.header("connection", "close");
    closeUnread(raw.socket, limits.lingerMs);
  }

  function answerError(error: unknown, request: FastifyRequest): Answer {
    const cause = unavailable(error);
    if (cause instanceof StoreUnavailableError) {
      if (cause instanceof StoreBusyError) context.limitMet("store.waiting");
      tellOutage(request.id, cause.message);
      return refuseUnavailable("The service cannot reach its storage");
    }
    const status = statusOf(error);
    if (status === 413) {
      return refuse("PayloadTooLarge", `The body is larger than ${request.routeOptions.bodyLimit} bytes`);
    }
    if (status !== null) return refuseUnreadable(status, "The request is malformed");
    log.error("request_failed", { request_id: request.id, path: loggedPath(request), error: describe(error) });
    return answerBroken();
  }

  mountHealth(app, context, draining.signal);
  mountDescription(app, configuration.metrics ? metrics : null, context.machine.clock);
  mountOperations(app, context, limits.robots);
  if (files !== null)
    mountConsole(app, context, {
      files,
      onlineWindowMs: context.identity.onlineWindowMs,
    });
  return app;

  /** Browsers get a page with a link to the console. */
  function refusePath(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> | FastifyReply {
    const answer = refuseRoute(request);
    const isPage = isForPage(request.method, pathOf(request), request.headers.accept);
    return answer.status === 404 && files !== null && isPage ? files.sendMissing(request, reply) : send(reply, answer);
  }

  function refuseRoute(request: FastifyRequest): Answer {
    const path = decoded(pathOf(request));
    const methods = [...methodsAt(path), ...(files === null ? [] : consoleMethodsAt(path))];
    if (methods.length === 0) return refuse("NotFound", "Not Found");
    return refuse("MethodNotAllowed", "Method Not Allowed", { allow: methods.join(", ") });
  }
}

/**
 * Refuses what Node's parser accepts: other versions of HTTP, expectations that cannot be met, the target `*` of other methods than
 * OPTIONS, no Host header, and several, of which a proxy may use another (RFC 9112, 3.2).
 */
function refuseHead({ raw }: FastifyRequest): Answer | null {
  if (raw.httpVersionMajor !== 1) return refuseUnreadable(505, "Only HTTP/1.1 and HTTP/1.0 are spoken here");
  if (!/^100-continue$/i.test(raw.headers.expect ?? "100-continue")) {
    return refuseUnreadable(417, "No expectation but 100-continue can be met");
  }
  const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name)).length;
  if (hosts > 1) return refuseUnreadable(400, "The request has more than one Host header");
  if (hosts === 0 && raw.httpVersionMinor > 0) return refuseUnreadable(400, "The request has no Host header");
  return raw.url === "*" && raw.method !== "OPTIONS"
    ? refuseUnreadable(400, "The target * is for OPTIONS; name the path")
    : null;
}

/** As the router reads it: `/v1/robots/%73etup` is another spelling of `/v1/robots/setup`. It refuses a malformed path before. */
function decoded(path: string): string {
  return path.includes("%") ? decodeURI(path) : path;
}

/** The status of a client error found by the framework; null for errors of the service. */
function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !("statusCode" in error) || typeof error.statusCode !== "number") return null;
  return error.statusCode >= 400 && error.statusCode < 500 ? error.statusCode : null;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
