import type { Clock } from "../../../platform/clock.ts";
import type { Answer } from "../http/answers.ts";
import { refuse } from "../http/answers.ts";
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
  | {
      readonly state: "limited";
      readonly by: keyof RateLimits;
      /** As what the client has asked too often. */
      readonly party: keyof Client;
      readonly answer: Answer;
    };

/**
 * How often each client may ask, counted in this process: replicas count for themselves.
 *
 * A credential that works has a bucket of its own. Everything else counts for the client's address: requests that need no
 * credential, and credentials that do not work. Each of the two has a bucket, so that a robot with a bad key does not keep people behind the
 * same NAT from signing in. An address that tried too many is told so instead of what is wrong with the next
 * one. Each is looked up even then, by its hash in an index, or one robot with a bad key would silence all others behind the same NAT,
 * those that were never heard before as well.
 *
 * An address of IPv6 is a /64, and a /48 has as much as eight of them, because a subscriber may have 65,536.
 */
export interface RateLimiter {
  /** @param token undefined for a request that authenticates itself with none. */
  identify(token: string | undefined, address: string): Client;
  /** Before the credential is looked up. */
  onArrival(client: Client): Verdict;
  /** The credential was good. */
  onAuthenticated(client: Client): Verdict;
  /** There was none, or it was not good. */
  onAnonymous(client: Client): Verdict;
  /** None is needed: a login, or a look at one. */
  onPublic(client: Client): Verdict;
}

/** Addresses that those of a /48 are as good as. */
const ADDRESSES_OF_SITE = 8;

const ALLOWED: Verdict = { state: "allowed", headers: {} };

/** The limiter that limits nothing. */
export const UNLIMITED: RateLimiter = {
  identify: identifyClient,
  onArrival: () => ALLOWED,
  onAuthenticated: () => ALLOWED,
  onAnonymous: () => ALLOWED,
  onPublic: () => ALLOWED,
};

export function createRateLimiter(limits: RateLimits, clock: Clock): RateLimiter {
  const credentials = new TokenBuckets(limits.credential, BUCKETS_MAXIMUM);
  const anonymous = createAddressLimit(limits.address, clock);
  const logins = createAddressLimit(limits.address, clock);
  const ofCredential = (taken: Taken) => verdict("credential", "credential", limits.credential, taken);

  return {
    identify: identifyClient,
    onArrival(client) {
      const { credential } = client;
      if (credential === null) return anonymous(client, "look");
      return credentials.has(credential) ? ofCredential(credentials.look(credential, clock.monotonicMs())) : ALLOWED;
    },
    onAuthenticated({ credential }) {
      return credential === null ? ALLOWED : ofCredential(credentials.take(credential, clock.monotonicMs()));
    },
    onAnonymous(client) {
      if (client.credential !== null) credentials.forget(client.credential);
      return anonymous(client, "take");
    },
    onPublic: (client) => logins(client, "take"),
  };
}

/** What each address may do, and all those of a /48. */
function createAddressLimit(limit: RateLimit, clock: Clock): (client: Client, use: "look" | "take") => Verdict {
  const addresses = new TokenBuckets(limit, BUCKETS_MAXIMUM);
  const siteLimit = { per_second: limit.per_second * ADDRESSES_OF_SITE, burst: limit.burst * ADDRESSES_OF_SITE };
  const sites = new TokenBuckets(siteLimit, BUCKETS_MAXIMUM);
  return ({ network, site }, use) => {
    const nowMs = clock.monotonicMs();
    const own = verdict("address", "network", limit, addresses[use](network, nowMs));
    if (own.state === "limited" || site === network) return own;
    const shared = verdict("address", "site", siteLimit, sites[use](site, nowMs));
    return shared.state === "limited" ? shared : own;
  };
}

/** The headers of draft-ietf-httpapi-ratelimit-headers-10; the window of a bucket is the time it takes to fill. */
function verdict(
  by: keyof RateLimits,
  party: keyof Client,
  { burst, per_second: perSecond }: RateLimit,
  taken: Taken,
): Verdict {
  const headers = {
    "ratelimit-policy": `"${by}";q=${burst};w=${Math.ceil(burst / perSecond)}`,
    ratelimit: `"${by}";r=${taken.remaining};t=${Math.ceil(taken.fullInMs / 1000)}`,
  };
  if (taken.isAllowed) return { state: "allowed", headers };
  const retryAfterS = Math.max(1, Math.ceil(taken.waitMs / 1000));
  const detail = `Too many requests; try again in ${retryAfterS} s`;
  return {
    state: "limited",
    by,
    party,
    answer: refuse("RateLimited", detail, { ...headers, "retry-after": String(retryAfterS) }),
  };
}
