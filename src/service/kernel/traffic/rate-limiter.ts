import type { Clock } from "../../../platform/clock.ts";
import { type Answer, refuse } from "../http/answers.ts";
import type { ClientAddress } from "./client-address.ts";
import type { RateLimit, RateLimits } from "./limits.ts";
import { TokenBuckets } from "./token-buckets.ts";

/** Buckets kept of each kind, about 100 bytes each. */
const BUCKETS_MAXIMUM = 20_000;

/** Whether a request is within the limits. Every answer to it carries `headers`. */
export type Verdict =
  | { readonly state: "allowed"; readonly headers: Readonly<Record<string, string>> }
  | { readonly state: "limited"; readonly by: keyof RateLimits; readonly answer: Answer };

/**
 * Limits how often each client may send requests. Each replica counts separately.
 *
 * A valid credential has a bucket of its own, and one with all others of its organization. Other requests count for the client's address,
 * in two buckets: one for requests that need no credential, one for invalid credentials. So a robot with a bad key does not keep people
 * behind the same NAT from signing in. An address over its limit is answered with 429 instead of 401. Its credentials are still looked up,
 * by their hash in an index: otherwise one robot with a bad key would block all robots behind the same NAT.
 *
 * For IPv6 an address is a /64. A /48 has as much as eight of them, because a subscriber may have 65,536.
 */
export interface RateLimiter {
  /** Call when the credential is valid. */
  onCredential(owner: { readonly credentialId: string; readonly organizationId: string }): Verdict;
  /** Call when there is no credential, or an invalid one. */
  onAnonymous(address: ClientAddress): Verdict;
  /** Call for operations that need no credential, such as logins. */
  onPublic(address: ClientAddress): Verdict;
  /** Call for operations whose requests robot computers sign. */
  onSigned(address: ClientAddress): Verdict;
}

/** The limit of a /48, as a multiple of that of an address. */
const ADDRESSES_OF_SITE = 8;

const ALLOWED: Verdict = { state: "allowed", headers: {} };

export const UNLIMITED: RateLimiter = {
  onCredential: () => ALLOWED,
  onAnonymous: () => ALLOWED,
  onPublic: () => ALLOWED,
  onSigned: () => ALLOWED,
};

export function createRateLimiter(limits: RateLimits, clock: Clock): RateLimiter {
  const ofCredential = createLimit("credential", limits.credential, clock);
  const ofOrganization = createLimit("organization", limits.organization, clock);
  return {
    onCredential({ credentialId, organizationId }) {
      const own = ofCredential(credentialId);
      if (own.state === "limited") return own;
      const shared = ofOrganization(organizationId);
      return shared.state === "limited" ? shared : own;
    },
    onAnonymous: createAddressLimit("address", limits.address, clock),
    onPublic: createAddressLimit("address", limits.address, clock),
    onSigned: createAddressLimit("robots", limits.robots, clock),
  };
}

/** Limits each address, and each /48. */
function createAddressLimit(
  by: "address" | "robots",
  limit: RateLimit,
  clock: Clock,
): (address: ClientAddress) => Verdict {
  const ofNetwork = createLimit(by, limit, clock);
  const siteLimit = { per_second: limit.per_second * ADDRESSES_OF_SITE, burst: limit.burst * ADDRESSES_OF_SITE };
  const ofSite = createLimit(by, siteLimit, clock);
  return ({ network, site }) => {
    const own = ofNetwork(network);
    if (own.state === "limited" || site === network) return own;
    const shared = ofSite(site);
    return shared.state === "limited" ? shared : own;
  };
}

/** The headers are those of draft-ietf-httpapi-ratelimit-headers-10; the window of a bucket is the time it takes to fill. */
function createLimit(by: keyof RateLimits, limit: RateLimit, clock: Clock): (name: string) => Verdict {
  const buckets = new TokenBuckets(limit, BUCKETS_MAXIMUM);
  const policy = `"${by}";q=${limit.burst};w=${Math.ceil(limit.burst / limit.per_second)}`;
  return (name) => {
    const { isAllowed, remaining, fullInMs, waitMs } = buckets.take(name, clock.monotonicMs());
    const ratelimit = `"${by}";r=${remaining};t=${Math.ceil(fullInMs / 1000)}`;
    const headers = { "ratelimit-policy": policy, ratelimit };
    if (isAllowed) return { state: "allowed", headers };
    const retryAfterS = String(Math.max(1, Math.ceil(waitMs / 1000)));
    const detail = `Too many requests; try again in ${retryAfterS} s`;
    return {
      state: "limited",
      by,
      answer: refuse("RateLimited", detail, { ...headers, "retry-after": retryAfterS }),
    };
  };
}
