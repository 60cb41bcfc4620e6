import { fastify } from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import { createConsoleReader } from "../console/server/built-console.ts";
import { consoleMethodsAt, isForPage } from "../console/server/console-paths.ts";
import { mountConsole } from "../console/server/console.ts";
import { createConsoleFiles } from "../console/server/serve-files.ts";
import type { Listener } from "./kernel/connections/listener.ts";
import { createConnectionRefusal } from "./kernel/connections/refuse-connection.ts";
import { answerBroken, refuse, refuseUnavailable, refuseUnreadable, TOO_MANY_REQUESTS } from "./kernel/http/answers.ts";
import type { Answer } from "./kernel/http/answers.ts";
import { clientAddress } from "./kernel/http/client-address.ts";
import { createOutageLog } from "./kernel/http/outage-log.ts";
import { createRequestId } from "./kernel/http/request-id.ts";
import { loggedPath, methodLabel, pathOf, routeLabel } from "./kernel/http/request-labels.ts";
import { methodsAt, routePath, shadowedPaths } from "./kernel/http/routing.ts";
import { send } from "./kernel/http/send.ts";
import { closeUnread, hasUnreadBody } from "./kernel/http/unread-body.ts";
import type { Metrics } from "./kernel/metrics.ts";
import { StoreUnavailableError, unavailable } from "./kernel/store/unavailable.ts";
import type { InFlight } from "./kernel/traffic/in-flight.ts";
import type { ServiceLimits } from "./limits.ts";
import { mountOperations } from "./operations.ts";
import type { OperationsContext } from "./operations.ts";
import { mountDescription, mountHealth } from "./own-paths.ts";

/** What the end of the service and its requests know of each other. */
export interface Draining {
  readonly signal: AbortSignal;
  readonly inFlight: InFlight;
}

export interface HttpOptions {
  readonly limits: ServiceLimits;
  readonly listener: Listener;
  readonly draining: Draining;
  readonly metrics: Metrics;
  /** Whether /metrics answers. */
  readonly showsMetrics: boolean;
  /** Tell every request at info, not only at debug. */
  readonly logsRequests: boolean;
  /** Addresses and networks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Where the built console is; null where none is served. */
  readonly consoleFolder: string | null;
}

/** The service's HTTP side: routing, limits, and an answer in JSON whatever happens. */
export function createHttpServer(context: OperationsContext, options: HttpOptions): FastifyInstance {
  const { log, random } = context.machine;
  const { limits, listener, draining, metrics, consoleFolder } = options;
  const logRequest = options.logsRequests ? log.info : log.debug;
  const tellOutage = createOutageLog(context.machine);
  const requestIdOf = createRequestId(random);
  const files =
    consoleFolder === null ? null : createConsoleFiles(createConsoleReader(consoleFolder, context.machine), log);
  const app = fastify({
    serverFactory: (handle) => listener.create(handle),
    bodyLimit: limits.bodyBytes,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // Whatever fits into a request may be asked for: too long a name is nobody's, as any other.
    routerOptions: { maxParamLength: limits.headerBytes },
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    genReqId: requestIdOf,
    clientErrorHandler: createConnectionRefusal(() => requestIdOf({ headers: {} }), log),
    frameworkErrors: (_error, request, reply) => {
      void send(reply.header("x-request-id", request.id), refuseUnreadable(400, "The request path is malformed"));
    },
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, bytes, done) => done(null, bytes));

  app.addHook("onRequest", async (request, reply) => {
    draining.inFlight.track(reply.raw);
    reply.header("x-request-id", request.id);
    if (!(await context.traffic.arrive(clientAddress(request)))) return send(reply, TOO_MANY_REQUESTS);
    const unreadable = refuseHead(request);
    if (unreadable !== null) return send(reply.header("connection", "close"), unreadable);
    // Here, before a body is read: a path that is nobody's takes none.
    if (request.is404 || hasEmptyParameter(request)) return refusePath(request, reply);
  });
  app.addHook("onSend", async ({ raw }, reply) => {
    if (hasUnreadBody(raw)) {
      reply.header("connection", "close");
      closeUnread(raw.socket, limits.lingerMs);
    }
    // A connection kept alive would hold up the end until its client thinks of something to ask.
    if (draining.signal.aborted) reply.header("connection", "close");
  });
  app.addHook("onResponse", async (request, reply) => {
    const { statusCode: status, elapsedTime: durationMs } = reply;
    const [method, route] = [methodLabel(request), routeLabel(request)];
    metrics.answered({ method, route, status, durationS: durationMs / 1000 });
    logRequest("request", {
      requestId: request.id,
      method: request.method,
      path: loggedPath(request),
      status,
      durationMs: Math.round(durationMs),
      client: clientAddress(request),
    });
  });
  app.setErrorHandler((error, request, reply) => send(reply, answerError(error, request)));

  function answerError(error: unknown, request: FastifyRequest): Answer {
    const cause = unavailable(error);
    if (cause instanceof StoreUnavailableError) {
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
  mountDescription(app, options, context.machine.clock);
  mountRefusals();
  mountOperations(app, context, limits);
  if (files !== null)
    mountConsole(app, context, { files, metrics, streams: limits.streams, stopping: draining.signal });
  return app;

  /** Paths that another operation would take for a parameter of its own. */
  function mountRefusals(): void {
    for (const { path, methods } of shadowedPaths()) {
      app.route({
        method: [...methods],
        url: routePath(path),
        onRequest: async (request, reply) => send(reply, refuseRoute(request)),
        handler: async (request, reply) => send(reply, refuseRoute(request)),
      });
    }
  }

  /** A person who mistyped an address gets a page with the way back. */
  function refusePath(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> | FastifyReply {
    const answer = refuseRoute(request);
    const isPage = isForPage(request.method, pathOf(request), request.headers.accept);
    return answer.status === 404 && files !== null && isPage ? files.sendMissing(request, reply) : send(reply, answer);
  }

  function refuseRoute(request: FastifyRequest): Answer {
    const path = pathOf(request);
    const methods = [...methodsAt(path), ...(files === null ? [] : consoleMethodsAt(path))];
    if (methods.length === 0) return refuse("NotFound", "Not Found");
    return refuse("MethodNotAllowed", "Method Not Allowed", { allow: methods.join(", ") });
  }
}

/** What Node's parser lets through: other versions of HTTP, and more than one Host, of which a proxy may have chosen another (RFC 9112, 3.2). */
function refuseHead({ raw }: FastifyRequest): Answer | null {
  if (raw.httpVersionMajor !== 1) return refuseUnreadable(505, "Only HTTP/1.1 and HTTP/1.0 are spoken here");
  const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
  return hosts.length > 1 ? refuseUnreadable(400, "The request has more than one Host header") : null;
}

/** The router takes `/v1/robots/` for the robot without a name; it is a path of nobody's. */
function hasEmptyParameter({ params }: FastifyRequest): boolean {
  if (typeof params !== "object" || params === null) return false;
  // The rest of a page's path may be empty.
  return Object.entries(params).some(([name, value]) => value === "" && name !== "*");
}

/** A status the framework chose for what the client did; null for what is our fault. */
function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !("statusCode" in error) || typeof error.statusCode !== "number") return null;
  return error.statusCode >= 400 && error.statusCode < 500 ? error.statusCode : null;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
