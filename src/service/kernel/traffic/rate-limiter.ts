import type { Clock } from "../../../platform/clock.ts";
import { type Answer, refuse } from "../http/answers.ts";
import type { Client } from "./parties.ts";
import type { RateLimit, RateLimits } from "./limits.ts";
import { type Taken, TokenBuckets } from "./token-buckets.ts";

/** Buckets kept of each kind, about 100 bytes each. */
export const BUCKETS_MAXIMUM = 20_000;

/** Whether a request is within the limits. Every answer to it carries `headers`. */
export type Verdict =
  | { readonly state: "allowed"; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly state: "limited";
      readonly by: keyof RateLimits;
      /** Which party of the client exceeded the limit. */
      readonly party: keyof Client;
      readonly answer: Answer;
    };

/**
 * Limits how often each client may send requests. Each replica counts separately.
 *
 * A valid credential has a bucket of its own. Other requests count for the client's address, in two buckets: one for requests that need
 * no credential, one for invalid credentials. So a robot with a bad key does not keep people behind the same NAT from signing in. An
 * address over its limit is answered with 429 instead of 401. Its credentials are still looked up, by their hash in an index: otherwise one
 * robot with a bad key would block all robots behind the same NAT whose keys this process has not seen yet.
 *
 * For IPv6 an address is a /64. A /48 has as much as eight of them, because a subscriber may have 65,536.
 */
export interface RateLimiter {
  /** Call before the credential is looked up. */
  onArrival(client: Client): Verdict;
  /** Call when the credential is valid. */
  onAuthenticated(client: Client): Verdict;
  /** Call when there is no credential, or an invalid one. */
  onAnonymous(client: Client): Verdict;
  /** Call for operations that need no credential, such as logins. */
  onPublic(client: Client): Verdict;
  /** Call for operations whose requests robot computers sign. */
  onSigned(client: Client): Verdict;
}

/** The limit of a /48, as a multiple of that of an address. */
const ADDRESSES_OF_SITE = 8;

const ALLOWED: Verdict = { state: "allowed", headers: {} };

export const UNLIMITED: RateLimiter = {
  onArrival: () => ALLOWED,
  onAuthenticated: () => ALLOWED,
  onAnonymous: () => ALLOWED,
  onPublic: () => ALLOWED,
  onSigned: () => ALLOWED,
};

export function createRateLimiter(limits: RateLimits, clock: Clock): RateLimiter {
  const credentials = new TokenBuckets(limits.credential, BUCKETS_MAXIMUM);
  const anonymous = createAddressLimit(limits.address, clock);
  const logins = createAddressLimit(limits.address, clock);
  const robots = createAddressLimit(limits.robots, clock, "robots");
  const ofCredential = (taken: Taken) => verdict("credential", "credential", limits.credential, taken);

  return {
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
    onSigned: (client) => robots(client, "take"),
  };
}

/** Limits each address, and each /48. */
function createAddressLimit(
  limit: RateLimit,
  clock: Clock,
  by: "address" | "robots" = "address",
): (client: Client, use: "look" | "take") => Verdict {
  const addresses = new TokenBuckets(limit, BUCKETS_MAXIMUM);
  const siteLimit = { per_second: limit.per_second * ADDRESSES_OF_SITE, burst: limit.burst * ADDRESSES_OF_SITE };
  const sites = new TokenBuckets(siteLimit, BUCKETS_MAXIMUM);
  return ({ network, site }, use) => {
    const nowMs = clock.monotonicMs();
    const own = verdict(by, "network", limit, addresses[use](network, nowMs));
    if (own.state === "limited" || site === network) return own;
    const shared = verdict(by, "site", siteLimit, sites[use](site, nowMs));
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
