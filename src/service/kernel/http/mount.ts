/**
 * Serves the operations of the contract. The way of a request: the gate admits it by its headers (`onRequest`), the framework reads its body
 * within the operation's limit, the handler answers when it is its requester's turn, and the answer is sent.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type * as z from "zod";

import { BODY_BYTES } from "../../../api/wire/body-bytes.ts";
import type { Operation, WithBody, WithoutBody } from "../../../api/wire/operation.ts";
import { bearerToken, type Owner, type Principal } from "../auth/authenticate.ts";
import { CredentialEndedError, writeAs } from "../auth/credentials.ts";
import type { JsonObject } from "../json/json.ts";
import { type Actor, type Handler, type OpenHandler, type OperationContext, refuseEnded } from "../operation.ts";
import { readClientAddress } from "../traffic/client-address.ts";
import type { RequestInFlight, Traffic } from "../traffic/traffic.ts";
import { validate } from "../validation/validation.ts";
import { type Answer, type AnyAnswer, refuseInvalid } from "./answers.ts";
import { arrivalOf, clientAddress } from "./arrival.ts";
import { readRequest } from "./body.ts";
import type { Gate } from "./gate.ts";
import { routePath } from "./routing.ts";
import { lengthOf, send } from "./send.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Null until the request is admitted. */
    admitted: Admitted | null;
    /** Whose request it is, if it was not admitted; null if that is unknown. */
    refusedOwner: Owner | null;
    /** As the client sent it; the framework refuses types that it cannot parse. */
    contentType: string | undefined;
  }
}

/** A request that was admitted by its headers. */
export interface Admitted {
  /** Null for a public operation. */
  readonly principal: Principal | null;
  readonly inFlight: RequestInFlight;
}

/** A request that was refused, for operations that record it. */
export interface RefusedRequest {
  readonly owner: Owner | null;
  readonly answer: Answer;
  readonly contentType: string | undefined;
}

/** Called when the answer is sent. */
export type OnRefused = (request: FastifyRequest, refused: RefusedRequest) => void;

/** What operations and the checks before them need. */
export interface MountContext extends OperationContext {
  readonly gate: Gate;
  readonly traffic: Traffic;
}

/** Serves an operation that takes a body. */
export function mountWithBody<S extends z.ZodType>(
  app: FastifyInstance,
  context: MountContext,
  operation: Operation & WithBody<S>,
  handle: Handler<z.output<S>>,
  onRefused?: OnRefused,
): void {
  const answer = async (request: FastifyRequest, admitted: Admitted) => {
    const body = readRequest(operation, request);
    if (body.state === "refused") return body.answer;
    return handle({ ...callOf(request), ...actorOf(context, admitted), body: body.value, query: null });
  };
  route(app, context, operation, answer, onRefused);
}

/** Serves an operation with a body that answers without a credential, only or also. */
export function mountOpen<S extends z.ZodType>(
  app: FastifyInstance,
  context: MountContext,
  operation: Operation & WithBody<S> & ({ readonly isOpen: true } | { readonly scopes: "public" | "signed" }),
  handle: OpenHandler<z.output<S>>,
): void {
  route(app, context, operation, async (request, admitted) => {
    const body = readRequest(operation, request);
    if (body.state === "refused") return body.answer;
    const { headers } = request;
    return handle({
      ...callOf(request),
      actor: admitted.principal === null ? null : actorOf(context, admitted),
      program: headers["user-agent"] ?? null,
      bearer: bearerToken(headers.authorization),
      body: body.value,
      query: null,
    });
  });
}

/** Serves an operation without a body; a body is ignored. */
export function mount(
  app: FastifyInstance,
  context: MountContext,
  operation: Operation & WithoutBody,
  handle: Handler<null>,
): void {
  route(app, context, operation, (request, admitted) =>
    handle({ ...callOf(request), ...actorOf(context, admitted), body: null, query: null }),
  );
}

/** Serves a list: an operation without a body that understands query parameters. */
export function mountWithQuery<Q extends z.ZodObject>(
  app: FastifyInstance,
  context: MountContext,
  operation: Operation & WithoutBody & { readonly query: Q },
  handle: Handler<null, z.output<Q>>,
): void {
  route(app, context, operation, async (request, admitted) => {
    const query = validate(operation.query, queryParameters(request), ["query"]);
    if (query.state === "invalid") return refuseInvalid(query.findings);
    return handle({ ...callOf(request), ...actorOf(context, admitted), body: null, query: query.value });
  });
}

/** A path, its method, and the scope it requires. */
type Route = Pick<Operation, "method" | "scopes" | "isOpen"> &
  Partial<Pick<WithBody, "bodyBytes">> & { readonly path: string };

/** Serves a path: credential and scope, then `answer`, which reads the rest of the request. */
export function route(
  app: FastifyInstance,
  { gate, traffic }: Pick<MountContext, "gate" | "traffic">,
  operation: Route,
  answer: (request: FastifyRequest, admitted: Admitted) => Promise<AnyAnswer>,
  onRefused?: OnRefused,
): void {
  decorate(app);
  /** Refuses a change whose credential ended after it was admitted. */
  async function answerWhileValid(request: FastifyRequest, admitted: Admitted): Promise<AnyAnswer> {
    try {
      return await answer(request, admitted);
    } catch (error) {
      if (error instanceof CredentialEndedError) return refuseEnded();
      throw error;
    }
  }

  app.route({
    method: operation.method,
    url: routePath(operation.path),
    bodyLimit: Math.min(
      operation.bodyBytes ?? BODY_BYTES.none,
      app.initialConfig.bodyLimit ?? Number.POSITIVE_INFINITY,
    ),
    // Before the body is read, so that a refused request costs only its headers.
    onRequest: async (request, reply) => {
      request.contentType = request.headers["content-type"];
      if (request.contentType !== undefined) request.raw.headers["content-type"] = "application/octet-stream";
      const arrival = arrivalOf(request);
      const admission = await gate.admit(operation, arrival);
      if (admission.state === "refused") {
        request.refusedOwner = admission.owner;
        return send(reply, admission.answer);
      }
      const { principal, headers } = admission;
      reply.headers(headers);
      const requester = principal?.organizationId ?? readClientAddress(arrival.address).site;
      const isChange = operation.method !== "GET";
      const inFlight = traffic.begin(requester, isChange, bodyBytesOf(request), reply.raw);
      if ("status" in inFlight) {
        request.refusedOwner = principal;
        return send(reply, inFlight);
      }
      request.admitted = { principal, inFlight };
      // "100-continue" is the only expectation that gets here. HTTP/1.0 knows no interim answers (RFC 9110, 10.1.1).
      if (request.headers.expect !== undefined && request.raw.httpVersionMinor > 0) reply.raw.writeContinue();
    },
    handler: async (request, reply) => {
      const { admitted } = request;
      if (admitted === null) throw new Error(`A request was not admitted to ${operation.method} ${operation.path}`);
      const { inFlight } = admitted;
      const answered = await inFlight.work(() => answerWhileValid(request, admitted));
      const full = inFlight.answer(lengthOf(answered));
      return send(reply, full ?? answered);
    },
    ...(onRefused === undefined
      ? {}
      : {
          onResponse: async (request: FastifyRequest) => {
            const { admitted, refusal, contentType } = request;
            const owner = admitted?.principal ?? request.refusedOwner;
            if (refusal !== null) onRefused(request, { owner, answer: refusal, contentType });
          },
        }),
  });
}

/** Declares the state of a request, as the framework wants it. Call before the first route; more calls do nothing. */
export function decorate(app: FastifyInstance): void {
  if (app.hasRequestDecorator("admitted")) return;
  app.decorateRequest("admitted", null);
  app.decorateRequest("refusedOwner", null);
  app.decorateRequest("refusal", null);
  app.decorateRequest("contentType", undefined);
}

/** Bytes to expect: the declared length, or the operation's limit. */
function bodyBytesOf({ headers, routeOptions }: FastifyRequest): number {
  const { "content-length": length, "transfer-encoding": coding } = headers;
  if (coding === undefined && length === undefined) return 0;
  const most = routeOptions.bodyLimit ?? 0;
  return length === undefined ? most : Math.min(Number(length), most);
}

/** @throws when a public operation is mounted as one that needs a credential. */
function actorOf({ store, machine }: MountContext, { principal }: Admitted): Actor {
  if (principal === null) throw new Error("A public operation has no principal");
  return { principal, write: writeAs(store, machine.clock, principal) };
}

function callOf(request: FastifyRequest) {
  return {
    path: pathParameters(request),
    url: request.url,
    requestId: request.id,
    address: clientAddress(request),
  };
}

function pathParameters({ params }: FastifyRequest): Readonly<Record<string, string>> {
  if (typeof params !== "object" || params === null) return {};
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]));
}

/** The last value counts of a parameter that is given twice. */
function queryParameters(request: FastifyRequest): JsonObject {
  const query = /^[^?#]*(\?[^#]*)/.exec(request.url)?.[1];
  return new Map(new URLSearchParams(query));
}
