import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type * as z from "zod";

import type { Operation } from "../../api/api.ts";
import { authenticate, isAllowed } from "../auth/authenticate.ts";
import type { Principal } from "../auth/authenticate.ts";
import type { Handler, OperationContext } from "../operations/operation.ts";
import { validate } from "../validation/validation.ts";
import type { Answer } from "./answers.ts";
import { refuse, refuseInvalid, refuseUnreadable } from "./answers.ts";
import { readBody } from "./body.ts";
import { routePath } from "./routing.ts";

/** What is known of a request before its body is read. */
interface Admission {
  readonly principal: Principal;
  readonly content_type: string | undefined;
}

const admissions = new WeakMap<FastifyRequest, Admission>();

/** Serves an operation that takes a body: credential, scope, body, contract, then the handler. */
export function mountWithBody<S extends z.ZodType>(
  app: FastifyInstance,
  context: OperationContext,
  operation: Operation & { readonly request: S },
  handle: Handler<z.output<S>>,
): void {
  route(app, context, operation, async (request, { principal, content_type }) => {
    const body = readBody(content_type, request.body instanceof Uint8Array ? request.body : undefined);
    switch (body.state) {
      case "unreadable":
        return refuseUnreadable(400, "There was an error parsing the body");
      case "invalid":
        return refuseInvalid([body.finding]);
      case "read": {
        const validated = validate(operation.request, body.value, ["body"]);
        if (validated.state === "invalid") return refuseInvalid(validated.findings);
        return handle({ principal, body: validated.value, path: pathParameters(request), request_id: request.id });
      }
    }
  });
}

/** Serves an operation without a body; one that comes along is ignored. */
export function mount(
  app: FastifyInstance,
  context: OperationContext,
  operation: Operation & { readonly request: null },
  handle: Handler<null>,
): void {
  route(app, context, operation, (request, { principal }) =>
    handle({ principal, body: null, path: pathParameters(request), request_id: request.id }),
  );
}

/** Sends an answer as it is. */
export function send(reply: FastifyReply, { status, json, headers }: Answer): FastifyReply {
  return reply
    .code(status)
    .headers({ ...headers })
    .header("content-type", "application/json")
    .send(json);
}

function route(
  app: FastifyInstance,
  { store, machine }: OperationContext,
  operation: Operation,
  answer: (request: FastifyRequest, admission: Admission) => Promise<Answer>,
): void {
  app.route({
    method: operation.method,
    url: routePath(operation),
    // Before the body is read: who may not send one costs no more than a look at the headers.
    onRequest: async (request, reply) => {
      const { authorization, "content-type": content_type } = request.headers;
      const authentication = await authenticate(store.reader, machine.clock, authorization);
      if (authentication.state === "unauthorized") {
        return send(reply, refuse("Unauthorized", authentication.detail, { "www-authenticate": "Bearer" }));
      }
      if (!isAllowed(authentication.principal, operation.scope)) {
        return send(reply, refuse("Forbidden", `The API key lacks the scope ${operation.scope}`));
      }
      admissions.set(request, { principal: authentication.principal, content_type });
      // The framework refuses types it cannot parse; what a type means is decided in body.ts.
      if (content_type !== undefined) request.raw.headers["content-type"] = "application/octet-stream";
    },
    handler: async (request, reply) => {
      const admission = admissions.get(request);
      if (admission === undefined) throw new Error(`No admission for ${operation.method} ${operation.path}`);
      return send(reply, await answer(request, admission));
    },
  });
}

function pathParameters(request: FastifyRequest): Readonly<Record<string, string>> {
  const { params } = request;
  if (typeof params !== "object" || params === null) return {};
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]));
}
