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

/** `headers` belong to the answer, whatever it is. A public operation has no principal, and its client no credential. `since_ms` is monotonic. */
export type Admission =
  | {
      readonly state: "admitted";
      readonly principal: Principal | null;
      readonly client: Client;
      readonly headers: Headers;
      readonly since_ms: number;
    }
  | { readonly state: "refused"; readonly owner: Owner | null; readonly answer: Answer };

/** Lets requests in: not too many, from whom we know, for what they may do. All of it before a body is read. */
export interface Gate {
  admit(scopes: Operation["scopes"], arrival: Arrival): Promise<Admission>;
  /** Whether a credential ended while its request was under way; asked before an answer goes out. */
  hasEnded(admitted: Pick<Extract<Admission, { state: "admitted" }>, "principal" | "since_ms">): Promise<boolean>;
}

/** Whoever is answered sooner could as well have been answered before the credential ended. */
const PROMPT_MS = 100;

interface GateContext extends Pick<OperationContext, "store" | "machine" | "lastUsed"> {
  /** Where there is no console, its sessions of before are worth nothing. */
  readonly servesConsole: boolean;
}

export function createGate(
  { store, machine, lastUsed, servesConsole }: GateContext,
  limiter: RateLimiter,
  metrics: Pick<Metrics, "refusedCredential">,
  limitsMet: Pick<LimitsMet, "note">,
): Gate {
  /** Of credentials that worked, by their hash: whoever sends too much is turned away before the store is asked who it is. */
  const owners = new Map<string, Owner>();
  /** A site whose robots have one key asks for it thousands of times at once. */
  const identities = createShared<Authentication>();
  const endings = createShared<boolean>();
  return {
    async admit(scopes, { credential: shown, address }) {
      if (scopes === "public") {
        const anyone = limiter.identify(undefined, address);
        return enter(limiter.onPublic(anyone), null, anyone);
      }
      const credential = shown?.kind === "console" && !servesConsole ? null : shown;
      // The token, not the header: that can be spelled in many ways, and each would have tokens of its own to spend.
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
    async hasEnded({ principal, since_ms: sinceMs }) {
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
    return { state: "admitted", principal, client, headers: verdict.headers, since_ms: machine.clock.monotonicMs() };
  }

  function turnAway(
    { by, party: as, answer }: Extract<Verdict, { readonly state: "limited" }>,
    client: Client,
    owner: Owner | null = null,
  ): Admission {
    // Of a credential there is only a hash, which says nothing to anybody.
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
