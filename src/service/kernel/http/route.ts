import type { FastifyInstance, FastifyRequest } from "fastify";

import { BODY_BYTES } from "../../../api/wire/body-bytes.ts";
import type { Operation, WithBody } from "../../../api/wire/operation.ts";
import type { Owner, Principal } from "../auth/authenticate.ts";
import { CredentialEndedError } from "../auth/credentials.ts";
import { type OperationContext, refuseEnded } from "../operation.ts";
import { StoreBusyError } from "../store/unavailable.ts";
import { runForRequester } from "../traffic/requester.ts";
import type { Passage, Traffic } from "../traffic/traffic.ts";
import { acceptedCodings, counted, refusalOf, send, sendZipped } from "./send.ts";
import { type Answer, type AnyAnswer, TOO_MANY_REQUESTS } from "./answers.ts";
import { arrivalOf, clientAddress } from "./arrival.ts";
import type { Gate } from "./gate.ts";
import { routePath } from "./routing.ts";

/** A request that was refused, for operations that record it. */
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

/** A path, its method, and the scope it requires. */
type Route = Pick<Operation, "method" | "scopes" | "isOpen"> &
  Partial<Pick<WithBody, "bodyBytes">> & { readonly path: string };

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
      const isConsole = arrival.credential?.kind === "console";
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
      // "100-continue" is the only expectation that gets here. HTTP/1.0 knows no interim answers (RFC 9110, 10.1.1).
      if (request.headers.expect !== undefined && request.raw.httpVersionMinor > 0) reply.raw.writeContinue();
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
