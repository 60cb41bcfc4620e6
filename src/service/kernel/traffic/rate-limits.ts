/** A token bucket of `burst` tokens, refilled with `per_second`. */
export interface RateLimit {
  readonly per_second: number;
  readonly burst: number;
}

export interface RateLimits {
  /** Requests of one credential. */
  readonly credential: RateLimit;
  /** Requests of one client address without a valid credential: as many logins, and as many guesses at keys. */
  readonly address: RateLimit;
  /** Requests of robot computers at one address that sign what they send instead of showing a credential. */
  readonly robots: RateLimit;
}

/**
 * All robots of a site may share one key, and after a power cut each sends a request within seconds. So the bucket of a credential holds
 * two requests for each of 10,000 robots, and its rate serves 6,000 robots that send one request a minute. An address may be a whole site
 * behind one NAT: a hundred people can log in there at once. Ten guesses a second at a key of 128 bits are hopeless. Each of 10,000 robots
 * at such an address asks for work every ten seconds, and after a long outage all renew their credentials.
 */
export const RATE_LIMITS: RateLimits = {
  credential: { per_second: 100, burst: 20_000 },
  address: { per_second: 10, burst: 300 },
  robots: { per_second: 2000, burst: 20_000 },
};
