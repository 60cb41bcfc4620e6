/**
 * The client room: how the programs talk to a robot policy service.
 *
 * This file is the whole of it from outside: `createClient` gives one method per operation, and each call comes back as a
 * value, whatever happened. Nothing here retries; the caller knows what a failure means to it (platform/retry.ts has the
 * delays). A credential is asked for before each request, so that one replaced on disk counts at once (credentials.ts).
 *
 * transport.ts is the seam to the network. undici-transport.ts is the real one: proxies (proxy.ts), private certificate
 * authorities (certificates.ts), time limits (limits.ts), loaded when the first request needs them.
 */
import type * as z from "zod";

import type { ValidationError } from "../api/errors.ts";
import type { RobotSetup } from "../api/robots.ts";
import type { RobotView } from "../api/robot-views.ts";
import { operationUrl } from "./address.ts";
import type { Credential, CredentialProblem } from "./credentials.ts";
import { sendRequest } from "./send-request.ts";
import type { ServiceAccess } from "./send-request.ts";
import type { HttpRequest, UnreachableReason } from "./transport.ts";

/** What became of a call. Texts are one line, bounded, printable, and hold no credential. */
export type CallResult<T> =
  | { readonly kind: "ok"; readonly status: number; readonly value: T }
  | {
      /** The service said no (4xx) or could not (5xx). */
      readonly kind: "refused";
      readonly status: number;
      readonly detail: string;
      /** The findings of a 422, without `input` and `ctx`; null when the answer has none. */
      readonly validation: readonly ValidationError[] | null;
      /** What Retry-After asked for, at most an hour. */
      readonly retry_after_ms: number | null;
      readonly request_id: string | null;
    }
  | {
      /** Somebody answered, but not as the service does: a captive portal, a redirect, a body beyond all bounds. */
      readonly kind: "undecodable";
      readonly status: number;
      readonly detail: string;
    }
  | {
      /** No answer; whether the request arrived is unknown. */
      readonly kind: "unreachable";
      readonly reason: UnreachableReason;
      readonly code: string | null;
      readonly detail: string;
    }
  | { readonly kind: "no-credential"; readonly problem: CredentialProblem };

/** The operations a robot computer needs, each as one call; operation-client.ts has all of them. None throws but for bugs. */
export interface ServiceClient {
  setupRobot(body: RobotSetup, signal: AbortSignal): Promise<CallResult<{ readonly robot: RobotView }>>;
  listRobots(signal: AbortSignal): Promise<CallResult<readonly RobotView[]>>;
}

export interface ClientOptions extends ServiceAccess {
  /** Called before each request. */
  readonly credential: () => Promise<Credential | CredentialProblem>;
}

export function createClient(options: ClientOptions): ServiceClient {
  const call = <T>(operation: Operation<T>, input: Input, signal: AbortSignal) =>
    callService(options, operation, input, signal);
  return {
    setupRobot: (body, signal) => call(operations.setupRobot, { body }, signal),
    listRobots: (signal) => call(operations.listRobots, {}, signal),
  };
}

interface Operation<T> {
  readonly method: HttpRequest["method"];
  /** Parameters are written `{like_this}`. */
  readonly path: `/v1/${string}`;
  /** Loaded with the first answer: the schemas would cost a start a third of its time (10 ms), and most starts need none. */
  readonly loadAnswer: () => Promise<z.ZodType<T>>;
  readonly answer_limit_bytes: number;
}

interface Input {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Of an answer that holds one thing, and of one that holds a list. */
export const RECORD_LIMIT_BYTES = 1_048_576;
export const LIST_LIMIT_BYTES = 33_554_432;

/** The service document, section 4, as far as a caller needs it. */
const operations = {
  setupRobot: {
    method: "POST",
    path: "/v1/robots/setup",
    loadAnswer: async () => (await import("../api/robot-views.ts")).robotSetupAnswerSchema,
    answer_limit_bytes: RECORD_LIMIT_BYTES,
  },
  listRobots: {
    method: "GET",
    path: "/v1/robots",
    loadAnswer: async () => (await import("../api/robot-views.ts")).robotListSchema,
    answer_limit_bytes: LIST_LIMIT_BYTES,
  },
} as const;

async function callService<T>(
  options: ClientOptions,
  operation: Operation<T>,
  input: Input,
  signal: AbortSignal,
): Promise<CallResult<T>> {
  const credential = await options.credential();
  if (credential.kind === "credential-problem") return { kind: "no-credential", problem: credential };
  const { secret } = credential;
  const { method, path, answer_limit_bytes } = operation;
  const url = operationUrl(options.base_url, path, input.parameters ?? {});
  const body = input.body === undefined ? null : JSON.stringify(input.body);
  const sent = await sendRequest(options, { method, url, body, answer_limit_bytes }, secret, signal);
  if (sent.kind === "unreachable") return sent;
  const { readAnswer } = await import("./answer.ts");
  return readAnswer(sent.answer, { schema: await operation.loadAnswer(), url, wall_ms: sent.wall_ms, secret });
}
