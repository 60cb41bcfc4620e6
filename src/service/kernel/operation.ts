/**
 * The kernel: what every resource of the service stands on, and nothing of any resource. This file has what a handler is given, and what
 * it answers with.
 *
 * http/ takes requests and sends answers, connections/ accepts connections, traffic/ shares among clients what there is of memory and
 * time, auth/ tells who asks, validation/ holds bodies to the contract of src/api, lists/ pages through lists, store/ keeps rows, tasks/
 * runs what nobody asks for.
 */
import type { Principal } from "./auth/authenticate.ts";
import type { LastUsed } from "./auth/last-used.ts";
import type { PrincipalWrite } from "./auth/still-valid.ts";
import type { Answer, AnyAnswer } from "./http/answers.ts";
import { refuse } from "./http/answers.ts";
import type { NewId } from "./ids.ts";
import type { ServiceMachine } from "./machine.ts";
import type { Authorship } from "./store/audit.ts";
import type { Store } from "./store/store.ts";
import type { LimitsMet } from "./traffic/limits-met.ts";

/** What operations work with. */
export interface OperationContext {
  readonly store: Store;
  readonly newId: NewId;
  readonly machine: ServiceMachine;
  readonly lastUsed: Pick<LastUsed, "note">;
  readonly limitsMet: Pick<LimitsMet, "note">;
  /** Has the tasks of the service look at the store now: something they care for has changed. */
  readonly nudge: () => void;
}

/** One request that was authenticated, allowed and validated. */
export interface Call<Body, Query = null> {
  readonly principal: Principal;
  /** Writes on behalf of the principal; nothing any more once its credential has ended. */
  readonly write: PrincipalWrite;
  readonly body: Body;
  /** Path parameters, decoded. */
  readonly path: Readonly<Record<string, string>>;
  /** Query parameters by the operation's schema; null where it has none. */
  readonly query: Query;
  /** Path and query as they were sent, for links to the next page. */
  readonly url: string;
  readonly request_id: string;
  /** Of the client. */
  readonly address: string;
}

export type Handler<Body, Query = null> = (call: Call<Body, Query>) => Promise<AnyAnswer>;

/** One request of an operation anyone may use. */
export interface PublicCall<Body> extends Omit<Call<Body>, "principal" | "write"> {
  /** What the client says it is, in `User-Agent`. */
  readonly program: string | null;
}

export type PublicHandler<Body> = (call: PublicCall<Body>) => Promise<Answer>;

/** Who makes the change that `call` asks for, at `at`. */
export function authorship(
  { principal, request_id: requestId }: Pick<Call<unknown>, "principal" | "request_id">,
  newId: NewId,
  at: string,
): Authorship {
  const { organization_id: organizationId, credential_id: credentialId } = principal;
  return { audit_id: newId("aud"), at, organizationId, actor: credentialId, requestId };
}

/** For a request whose credential ended while it was under way. */
export function refuseEnded(): Answer {
  return refuse("Unauthorized", "The credential ended while the request was under way", {
    "www-authenticate": "Bearer",
  });
}
