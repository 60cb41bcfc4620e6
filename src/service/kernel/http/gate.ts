import type { Operation } from "../../../api/wire/operation.ts";
import { authenticate, isAllowed } from "../auth/authenticate.ts";
import type { Authentication, Owner, Principal } from "../auth/authenticate.ts";
import { workingCredentials } from "../auth/credentials.ts";
import type { Metrics } from "../metrics.ts";
import type { OperationContext } from "../operation.ts";
import { createShared } from "../shared.ts";
import type { LimitsMet } from "../traffic/limits-met.ts";
import type { Client } from "../traffic/parties.ts";
import { BUCKETS_MAXIMUM } from "../traffic/rate-limiter.ts";
import type { RateLimiter, Verdict } from "../traffic/rate-limiter.ts";
import type { Answer } from "./answers.ts";
import { refuse } from "./answers.ts";
import type { Arrival } from "./arrival.ts";

type Headers = Readonly<Record<string, string>>;

/** Every answer carries `headers`. A public operation has neither principal nor credential. `sinceMs` is monotonic. */
export type Admission =
  | {
      readonly state: "admitted";
      readonly principal: Principal | null;
      readonly client: Client;
      readonly headers: Headers;
      readonly sinceMs: number;
    }
  | { readonly state: "refused"; readonly owner: Owner | null; readonly answer: Answer };

/** Admits requests by rate limit, credential and scope, before their body is read. */
export interface Gate {
  admit(scopes: Operation["scopes"], arrival: Arrival): Promise<Admission>;
  /** Whether a credential ended while its request ran; call this before sending the answer. */
  hasEnded(admitted: Pick<Extract<Admission, { state: "admitted" }>, "principal" | "sinceMs">): Promise<boolean>;
}

/** Requests faster than this need no second check: they could as well have finished before the credential ended. */
const PROMPT_MS = 100;

interface GateContext extends Pick<OperationContext, "store" | "machine" | "lastUsed"> {
  /** Without a console, its earlier sessions are invalid. */
  readonly servesConsole: boolean;
}

export function createGate(
  { store, machine, lastUsed, servesConsole }: GateContext,
  limiter: RateLimiter,
  metrics: Pick<Metrics, "refusedCredential">,
  limitsMet: Pick<LimitsMet, "note">,
): Gate {
  /** Owners of valid credentials, by credential hash: a client over its limit is refused without a query. */
  const owners = new Map<string, Owner>();
  /** Shared, because robots of a site with one key may look it up thousands of times at once. */
  const identities = createShared<Authentication>();
  const endings = createShared<boolean>();
  return {
    async admit(scopes, { credential: shown, address }) {
      if (scopes === "public") {
        const anyone = limiter.identify(undefined, address);
        return enter(limiter.onPublic(anyone), null, anyone);
      }
      const credential = shown?.kind === "console" && !servesConsole ? null : shown;
      // By token, not by header: a header can be spelled in many ways, and each would have a bucket of its own.
      const client = limiter.identify(credential?.token, address);
      const arrival = limiter.onArrival(client);
      if (arrival.state === "limited") return turnAway(arrival, client, owners.get(client.credential ?? ""));
      const authentication = await identities(`${credential?.kind} ${client.credential}`, () =>
        authenticate(store.lookup, machine.clock, credential),
      );
      if (authentication.state === "unauthorized") {
        metrics.refusedCredential();
        const verdict = limiter.onAnonymous(client);
        if (verdict.state === "limited") return turnAway(verdict, client);
        const headers = { ...verdict.headers, "www-authenticate": "Bearer" };
        return refused("Unauthorized", authentication.detail, headers, authentication.owner);
      }
      const { principal } = authentication;
      lastUsed.note(principal);
      remember(client.credential, principal);
      const verdict = limiter.onAuthenticated(client);
      if (verdict.state === "limited") return turnAway(verdict, client, principal);
      if (scopes !== "any" && !scopes.some((scope) => isAllowed(principal, scope))) {
        return refused("Forbidden", `The API key lacks the scope ${scopes.join(" or ")}`, verdict.headers, principal);
      }
      return enter(verdict, principal, client);
    },
    async hasEnded({ principal, sinceMs }) {
      if (principal === null || machine.clock.monotonicMs() - sinceMs < PROMPT_MS) return false;
      const { credential_id: id } = principal;
      return endings(id, async () => {
        const now = new Date(machine.clock.wallMs()).toISOString();
        return !(await workingCredentials(store.reader, [id], now)).has(id);
      });
    },
  };

  function enter(verdict: Verdict, principal: Principal | null, client: Client): Admission {
    if (verdict.state === "limited") return turnAway(verdict, client);
    return { state: "admitted", principal, client, headers: verdict.headers, sinceMs: machine.clock.monotonicMs() };
  }

  function turnAway(
    { by, party: as, answer }: Extract<Verdict, { readonly state: "limited" }>,
    client: Client,
    owner: Owner | null = null,
  ): Admission {
    // A credential is known only by its hash, which tells an operator nothing.
    const party = as === "credential" ? (owner?.credential_id ?? client.network) : client[as];
    limitsMet.note(`rate_limit.${by}`, { organizationId: owner?.organization_id ?? null, party });
    return { state: "refused", owner, answer };
  }

  function remember(
    credential: string | null,
    { organization_id: organizationId, credential_id: credentialId }: Principal,
  ): void {
    if (credential === null || owners.has(credential)) return;
    const [oldest] = owners.keys();
    if (owners.size >= BUCKETS_MAXIMUM && oldest !== undefined) owners.delete(oldest);
    owners.set(credential, { organization_id: organizationId, credential_id: credentialId });
  }
}

function refused(code: "Unauthorized" | "Forbidden", detail: string, headers: Headers, owner: Owner | null): Admission {
  return { state: "refused", owner, answer: refuse(code, detail, headers) };
}
