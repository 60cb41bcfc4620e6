/**
 * The kernel: what all resources of the service share; it knows none of them. This file defines the input and output of handlers.
 *
 * http/ receives requests and sends answers, connections/ accepts connections, traffic/ shares memory and time fairly among clients, auth/
 * authenticates, validation/ checks bodies against the contract of src/api, lists/ pages through lists, store/ stores rows, tasks/ runs
 * background work.
 */
import type { Principal } from "./auth/authenticate.ts";
import type { LastUsed } from "./auth/last-used.ts";
import type { PrincipalWrite } from "./auth/credentials.ts";
import { type Answer, type AnyAnswer, refuse } from "./http/answers.ts";
import type { NewId } from "./ids.ts";
import type { ServiceMachine } from "./machine.ts";
import type { Authorship } from "./store/audit.ts";
import type { Store } from "./store/store.ts";
import type { Limit } from "./traffic/limits.ts";

/** What operations work with. */
export interface OperationContext {
  readonly store: Store;
  readonly newId: NewId;
  readonly machine: ServiceMachine;
  readonly lastUsed: Pick<LastUsed, "note" | "notedAt">;
  /** Counts for the metrics that a client met a limit. */
  readonly limitMet: (limit: Limit) => void;
  /** Makes the tasks of the service run soon, because something that concerns them has changed. */
  readonly nudge: () => void;
}

/** Who sends a request. */
export interface Actor {
  readonly principal: Principal;
  /** Writes on behalf of the principal while its credential is valid. */
  readonly write: PrincipalWrite;
}

/** One authenticated, authorized and validated request. */
export interface Call<Body, Query = null> extends Actor {
  readonly body: Body;
  /** Path parameters, decoded. */
  readonly path: Readonly<Record<string, string>>;
  /** Query parameters by the operation's schema; null if it has none. */
  readonly query: Query;
  /** Path and query as they were sent, for links to the next page. */
  readonly url: string;
  readonly requestId: string;
  /** Address of the client. */
  readonly address: string;
}

export type Handler<Body, Query = null> = (call: Call<Body, Query>) => Promise<AnyAnswer>;

/** One request of an operation that answers without a credential. */
export interface OpenCall<Body> extends Omit<Call<Body>, keyof Actor> {
  /** Null without a credential, and of an operation that takes none. */
  readonly actor: Actor | null;
  /** The client's `User-Agent`. */
  readonly program: string | null;
  /** The bearer token that was sent along. Nothing has checked it. */
  readonly bearer: string | null;
}

export type OpenHandler<Body> = (call: OpenCall<Body>) => Promise<Answer>;

/** Who makes the change that `call` asks for, at `at`. */
export function authorship(
  { principal, requestId }: Pick<Call<unknown>, "principal" | "requestId">,
  newId: NewId,
  at: string,
): Authorship {
  const { organizationId, credentialId } = principal;
  return { auditId: newId("aud"), at, organizationId, actor: credentialId, requestId };
}

/** Logs a change that a request made. */
export function logChange(
  { log }: Pick<ServiceMachine, "log">,
  event: string,
  { requestId, actor }: Authorship,
  fields: Readonly<Record<string, string | number | null>>,
): void {
  log.info(event, { request_id: requestId, credential_id: actor, ...fields });
}

/** For a request whose credential ended while it was under way. */
export function refuseEnded(): Answer {
  return refuse("Unauthorized", "The credential ended while the request was under way", {
    "www-authenticate": "Bearer",
  });
}
