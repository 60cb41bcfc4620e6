/** How often something may happen: a token bucket of `burst` tokens, filled again with `per_second`. */
export interface RateLimit {
  readonly per_second: number;
  readonly burst: number;
}

export interface RateLimits {
  /** Requests of one credential. */
  readonly credential: RateLimit;
  /** Requests of one client address without a credential that works: logins, and as many guesses at keys. */
  readonly address: RateLimit;
}

/**
 * A site may give all its robots one key and lose power: when it comes back, each robot asks once within seconds. So the bucket of
 * a credential holds two requests for each of 10,000 robots, and what it is filled with would carry 6,000 robots that
 * ask once a minute. An address may be a whole site behind one NAT; a hundred people can log in there at once, and a guess at a key
 * (128 bits) has no use for ten a second.
 */
export const RATE_LIMITS: RateLimits = {
  credential: { per_second: 100, burst: 20_000 },
  address: { per_second: 10, burst: 300 },
};
