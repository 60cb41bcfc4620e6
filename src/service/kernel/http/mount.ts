import type { FastifyInstance, FastifyRequest } from "fastify";
import type * as z from "zod";

import { BODY_BYTES } from "../../../api/wire/body-bytes.ts";
import type { Operation, WithBody, WithoutBody } from "../../../api/wire/operation.ts";
import { bearerToken } from "../auth/authenticate.ts";
import type { Owner, Principal } from "../auth/authenticate.ts";
import { CredentialEndedError, writeAs } from "../auth/still-valid.ts";
import type { PrincipalWrite } from "../auth/still-valid.ts";
import type { JsonObject } from "../json/parse-json.ts";
import type { Actor, Handler, OpenHandler, OperationContext, PublicHandler } from "../operation.ts";
import { refuseEnded } from "../operation.ts";
import { StoreBusyError } from "../store/unavailable.ts";
import { runForRequester } from "../traffic/requester.ts";
import type { Passage, Traffic } from "../traffic/traffic.ts";
import { validate } from "../validation/validation.ts";
import { acceptedCodings } from "./accepted-codings.ts";
import type { Answer, AnyAnswer } from "./answers.ts";
import { refuseInvalid, refuseUnavailable, refuseUnreadable, TOO_MANY_REQUESTS, TOO_MANY_VALUES } from "./answers.ts";
import { arrivalOf } from "./arrival.ts";
import { readBody } from "./body.ts";
import { clientAddress } from "./client-address.ts";
import type { Gate } from "./gate.ts";
import { routePath } from "./routing.ts";
import { counted, refusalOf, send, sendZipped } from "./send.ts";

export interface RefusedRequest {
  readonly owner: Owner | null;
  readonly answer: Answer;
  readonly contentType: string | undefined;
}

/** What is known about a request before its body is read. */
export interface Admitted {
  /** Null for a public operation. */
  readonly principal: Principal | null;
  readonly content_type: string | undefined;
  readonly takesGzip: boolean;
  /** Time of admission, by the clock of the gate. */
  readonly sinceMs: number;
  /** Whether the request has committed a change; then it is answered even if its credential has ended. */
  hasWritten: boolean;
}

const passages = new WeakMap<FastifyRequest, Passage>();
const admissions = new WeakMap<FastifyRequest, Admitted>();
/** Clients of requests that were not admitted. */
const strangers = new WeakMap<FastifyRequest, Owner>();

/** Called when the answer is sent. */
export type OnRefused = (request: FastifyRequest, refused: RefusedRequest) => void;

/** What operations and the checks before them need. */
export interface MountContext extends OperationContext {
  readonly gate: Gate;
  readonly traffic: Traffic;
}

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

/** A path, its method, and the scope it requires. */
type Route = Pick<Operation, "method" | "scopes" | "isOpen"> &
  Partial<Pick<WithBody, "bodyBytes">> & { readonly path: string };

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

/** Serves a path: credential and scope, then `answer`, which reads the rest of the request. */
export function route(
  app: FastifyInstance,
  { gate, traffic, limitsMet }: Pick<MountContext, "gate" | "traffic" | "limitsMet">,
  operation: Route,
  answer: (request: FastifyRequest, admitted: Admitted, passage: Passage) => Promise<AnyAnswer>,
  onRefused?: OnRefused,
): void {
  /** Refuses the request if its credential ended while it ran, unless it committed a change before. */
  async function answerInTime(request: FastifyRequest, admitted: Admitted, passage: Passage): Promise<AnyAnswer> {
    try {
      const answered = await answer(request, admitted, passage);
      return !admitted.hasWritten && (await gate.hasEnded(admitted)) ? refuseEnded() : answered;
    } catch (error) {
      if (error instanceof CredentialEndedError) return refuseEnded();
      throw error;
    }
  }

  /** Notes the limit that the party meets when the store is busy. */
  async function noteBusy<T>(party: string, organizationId: string | null, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreBusyError) limitsMet.note("store.waiting", { organizationId, party });
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
      const { "content-type": contentType } = request.headers;
      // The framework refuses types it cannot parse; body.ts interprets the real type.
      if (contentType !== undefined) request.raw.headers["content-type"] = "application/octet-stream";
      const arrival = arrivalOf(request);
      // Answers to a cookie are private; caches assume that only for an Authorization header (RFC 9111, 3.5).
      const isConsole = arrival.credential?.kind === "console";
      if (isConsole) reply.header("cache-control", "no-store");
      const { address } = arrival;
      const admit = () => gate.admit(operation, arrival);
      const admission = await noteBusy(address, null, () => runForRequester(address, admit));
      if (admission.state === "refused") {
        if (admission.owner !== null) strangers.set(request, admission.owner);
        return send(reply, admission.answer);
      }
      reply.headers(admission.headers);
      const takesGzip =
        isConsole && operation.method === "GET" && acceptedCodings(request.headers["accept-encoding"]).has("gzip");
      const { principal, sinceMs } = admission;
      admissions.set(request, {
        principal,
        content_type: contentType,
        takesGzip,
        sinceMs,
        hasWritten: false,
      });
      const passage = traffic.begin(admission.client, bodyBytesOf(request), reply.raw, principal);
      if ("status" in passage) return send(reply, passage);
      passages.set(request, passage);
      // "100-continue" is the only expectation that gets here.
      if (request.headers.expect !== undefined) reply.raw.writeContinue();
    },
    handler: async (request, reply) => {
      const admitted = admissions.get(request);
      const passage = passages.get(request);
      if (admitted === undefined || passage === undefined) {
        throw new Error(`Nobody was admitted to ${operation.method} ${operation.path}`);
      }
      const { organizationId = null } = admitted.principal ?? {};
      const whose = organizationId ?? clientAddress(request);
      const worked = await noteBusy(whose, organizationId, () =>
        passage.work(whose, () => answerInTime(request, admitted, passage)),
      );
      if (worked === null) return send(reply, TOO_MANY_REQUESTS);
      const answered = counted(worked, passage, operation.method, () => gate.hasEnded(admitted));
      return admitted.takesGzip ? sendZipped(reply, answered) : send(reply, answered);
    },
    onResponse: async (request) => {
      const refusal = refusalOf(request);
      if (onRefused === undefined || refusal === undefined) return;
      const { principal = null, content_type: contentType } = admissions.get(request) ?? {};
      onRefused(request, { owner: principal ?? strangers.get(request) ?? null, answer: refusal, contentType });
    },
  });
}

/** Bytes to expect: the declared length, or the operation's limit. */
function bodyBytesOf({ headers, routeOptions }: FastifyRequest): number {
  const { "content-length": length, "transfer-encoding": coding } = headers;
  if (coding === undefined && length === undefined) return 0;
  const most = routeOptions.bodyLimit ?? 0;
  return length === undefined ? most : Math.min(Number(length), most);
}

/** @throws when a public operation is mounted as one that needs a credential. */
function actorOf({ store, machine }: MountContext, admitted: Admitted): Actor {
  const { principal } = admitted;
  if (principal === null) throw new Error("A public operation has no principal");
  const write: PrincipalWrite = async (job) => {
    const value = await writeAs(store, machine.clock, principal)(job);
    admitted.hasWritten = true;
    return value;
  };
  return { principal, write };
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
  const query = request.url.split("?").slice(1).join("?");
  return new Map(new URLSearchParams(query));
}
