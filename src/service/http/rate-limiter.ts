import type { Clock } from "../../platform/clock.ts";
import type { Answer } from "./answers.ts";
import { refuse } from "./answers.ts";
import { identifyClient } from "./parties.ts";
import type { Client } from "./parties.ts";
import type { RateLimit, RateLimits } from "./rate-limits.ts";
import type { Taken } from "./token-buckets.ts";
import { TokenBuckets } from "./token-buckets.ts";

/** Buckets of each kind that are kept: of a hundred bytes each. */
export const BUCKETS_MAXIMUM = 20_000;

/** What the limits say of a request; `headers` belong to its answer, whatever that is. */
export type Verdict =
  | { readonly state: "allowed"; readonly headers: Readonly<Record<string, string>> }
  | { readonly state: "limited"; readonly by: keyof RateLimits; readonly answer: Answer };

/**
 * How often each client may ask, counted in this process: replicas count for themselves.
 *
 * A credential that works has a bucket of its own. Everything else counts for the client's address: requests that need no
 * credential, and credentials that do not work. An address that tried too many is told so instead of what is wrong with the next
 * one. Each is looked up even then, by its hash in an index, or one robot with a bad key would silence all others behind the same NAT,
 * those that were never heard before as well.
 */
export interface RateLimiter {
  /** @param token undefined for a request that authenticates itself with none. */
  identify(token: string | undefined, address: string): Client;
  /** Before the credential is looked up. */
  onArrival(client: Client): Verdict;
  /** The credential was good. */
  onAuthenticated(client: Client): Verdict;
  /** There was none, it was not good, or none is needed. */
  onAnonymous(client: Client): Verdict;
}

const ALLOWED: Verdict = { state: "allowed", headers: {} };

/** The limiter that limits nothing. */
export const UNLIMITED: RateLimiter = {
  identify: identifyClient,
  onArrival: () => ALLOWED,
  onAuthenticated: () => ALLOWED,
  onAnonymous: () => ALLOWED,
};

export function createRateLimiter(limits: RateLimits, clock: Clock): RateLimiter {
  const credentials = new TokenBuckets(limits.credential, BUCKETS_MAXIMUM);
  const addresses = new TokenBuckets(limits.address, BUCKETS_MAXIMUM);
  const ofCredential = (taken: Taken) => verdict("credential", limits.credential, taken);
  const ofAddress = (taken: Taken) => verdict("address", limits.address, taken);

  return {
    identify: identifyClient,
    onArrival({ credential, network }) {
      const now_ms = clock.monotonic_ms();
      if (credential === null) return ofAddress(addresses.look(network, now_ms));
      return credentials.has(credential) ? ofCredential(credentials.look(credential, now_ms)) : ALLOWED;
    },
    onAuthenticated({ credential }) {
      return credential === null ? ALLOWED : ofCredential(credentials.take(credential, clock.monotonic_ms()));
    },
    onAnonymous({ credential, network }) {
      if (credential !== null) credentials.forget(credential);
      return ofAddress(addresses.take(network, clock.monotonic_ms()));
    },
  };
}

/** The headers of draft-ietf-httpapi-ratelimit-headers-10; the window of a bucket is the time it takes to fill. */
function verdict(by: keyof RateLimits, { burst, per_second }: RateLimit, taken: Taken): Verdict {
  const headers = {
    "ratelimit-policy": `"${by}";q=${burst};w=${Math.ceil(burst / per_second)}`,
    ratelimit: `"${by}";r=${taken.remaining};t=${Math.ceil(taken.full_in_ms / 1000)}`,
  };
  if (taken.is_allowed) return { state: "allowed", headers };
  const retry_after_s = Math.max(1, Math.ceil(taken.wait_ms / 1000));
  const detail = `Too many requests; try again in ${retry_after_s} s`;
  return {
    state: "limited",
    by,
    answer: refuse("RateLimited", detail, { ...headers, "retry-after": String(retry_after_s) }),
  };
}
