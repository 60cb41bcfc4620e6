/** Serves the operations of the contract, by what they take: a body, query parameters, neither. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type * as z from "zod";

import type { Operation, WithBody, WithoutBody } from "../../../api/wire/operation.ts";
import { bearerToken } from "../auth/authenticate.ts";
import { type PrincipalWrite, writeAs } from "../auth/credentials.ts";
import type { JsonObject } from "../json/parse-json.ts";
import type { Actor, Handler, OpenHandler, PublicHandler } from "../operation.ts";
import type { Passage } from "../traffic/traffic.ts";
import { validate } from "../validation/validation.ts";
import { type Answer, refuseInvalid, refuseUnavailable, refuseUnreadable, TOO_MANY_VALUES } from "./answers.ts";
import { readBody } from "./body.ts";
import { clientAddress } from "./arrival.ts";
import { type Admitted, type MountContext, type OnRefused, route } from "./route.ts";

/** Serves an operation that takes a body: credential, scope, body, contract, then the handler. */
export function mountWithBody<S extends z.ZodType>(
  app: FastifyInstance,
  context: MountContext,
  operation: Operation & WithBody<S>,
  handle: Handler<z.output<S>>,
  onRefused?: OnRefused,
): void {
  const answer = async (request: FastifyRequest, admitted: Admitted, passage: Passage) => {
    const body = await passage.read(() => readRequest(operation, request, admitted.content_type));
    if (body === null) return refuseUnavailable("Too many large requests are waiting");
    if (body.state === "refused") return body.answer;
    return handle({ ...callOf(request), ...actorOf(context, admitted), body: body.value, query: null });
  };
  route(app, context, operation, answer, onRefused);
}

/** Serves an operation with a body that needs no credential. */
export function mountPublic<S extends z.ZodType>(
  app: FastifyInstance,
  context: MountContext,
  operation: Operation & WithBody<S> & { readonly scopes: "public" | "signed" },
  handle: PublicHandler<z.output<S>>,
): void {
  route(app, context, operation, async (request, { content_type: contentType }) => {
    const body = readRequest(operation, request, contentType);
    if (body.state === "refused") return body.answer;
    return handle({ ...callOf(request), ...senderOf(request), body: body.value, query: null });
  });
}

/** Serves an operation with a body that also answers without a credential. */
export function mountOpen<S extends z.ZodType>(
  app: FastifyInstance,
  context: MountContext,
  operation: Operation & WithBody<S> & { readonly isOpen: true },
  handle: OpenHandler<z.output<S>>,
): void {
  route(app, context, operation, async (request, admitted) => {
    const body = readRequest(operation, request, admitted.content_type);
    if (body.state === "refused") return body.answer;
    const actor = admitted.principal === null ? null : actorOf(context, admitted);
    return handle({ ...callOf(request), ...senderOf(request), actor, body: body.value, query: null });
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

type ReadRequest<T> =
  | { readonly state: "read"; readonly value: T }
  | { readonly state: "refused"; readonly answer: Answer };

/** The validated body of a request. */
export function readRequest<S extends z.ZodType>(
  { request: schema }: { readonly request: S },
  request: FastifyRequest,
  contentType: string | undefined,
): ReadRequest<z.output<S>> {
  const body = readBody(contentType, request.body instanceof Uint8Array ? request.body : undefined);
  switch (body.state) {
    case "unreadable":
      return { state: "refused", answer: refuseUnreadable(400, "There was an error parsing the body") };
    case "too-many":
      return { state: "refused", answer: TOO_MANY_VALUES };
    case "invalid":
      return { state: "refused", answer: refuseInvalid([body.finding]) };
    case "read": {
      const validated = validate(schema, body.value, ["body"]);
      if (validated.state === "invalid") return { state: "refused", answer: refuseInvalid(validated.findings) };
      return { state: "read", value: validated.value };
    }
  }
}

/** @throws when a public operation is mounted as one that needs a credential. */
function actorOf({ store, machine, traffic }: MountContext, admitted: Admitted): Actor {
  const { principal } = admitted;
  if (principal === null) throw new Error("A public operation has no principal");
  const write: PrincipalWrite = async (job) => {
    const value = await writeAs(store, machine.clock, principal)(job);
    admitted.hasWritten = true;
    return value;
  };
  return { principal, write, readRows: (query) => traffic.readRows(principal.organizationId, query) };
}

/** What a request without a principal says of its sender. */
function senderOf({ headers }: FastifyRequest) {
  return { program: headers["user-agent"] ?? null, bearer: bearerToken(headers.authorization) };
}

function callOf(request: FastifyRequest) {
  return {
    path: pathParameters(request),
    url: request.url,
    requestId: request.id,
    address: clientAddress(request),
  };
}

function pathParameters(request: FastifyRequest): Readonly<Record<string, string>> {
  const { params } = request;
  if (typeof params !== "object" || params === null) return {};
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]));
}

/** The last value counts of a parameter that is given twice. */
function queryParameters(request: FastifyRequest): JsonObject {
  const query = /^[^?#]*(\?[^#]*)/.exec(request.url)?.[1];
  return new Map(new URLSearchParams(query));
}
