import { describe, expect, it } from "vitest";

import type { Clock } from "../../../../../src/platform/clock.ts";
import { identifyClient } from "../../../../../src/service/kernel/traffic/parties.ts";
import { createRateLimiter, type Verdict } from "../../../../../src/service/kernel/traffic/rate-limiter.ts";
import { RATE_LIMITS } from "../../../../../src/service/kernel/traffic/limits.ts";
import { TokenBuckets } from "../../../../../src/service/kernel/traffic/token-buckets.ts";

function handClock(): Clock & { nowMs: number } {
  return {
    nowMs: 0,
    wallMs() {
      return this.nowMs;
    },
    monotonicMs() {
      return this.nowMs;
    },
    sleep: () => Promise.reject(new Error("nobody sleeps here")),
  };
}

const states = (verdicts: readonly Verdict[]) => verdicts.map(({ state }) => state);

describe("TokenBuckets", () => {
  it("grants the burst at once, then the refill", () => {
    const buckets = new TokenBuckets({ per_second: 2, burst: 3 }, 10);
    const taken = [0, 0, 0, 0, 499, 500, 500, 10_000, 10_000, 10_000, 10_000].map(
      (nowMs) => buckets.take("a", nowMs).isAllowed,
    );
    expect(taken).toEqual([true, true, true, false, false, true, false, true, true, true, false]);
  });

  it("reports the tokens left, the time to the next token, and to a full bucket", () => {
    const buckets = new TokenBuckets({ per_second: 2, burst: 2 }, 10);
    expect(buckets.take("a", 0)).toEqual({ isAllowed: true, remaining: 1, fullInMs: 500, waitMs: 0 });
    expect(buckets.take("a", 0)).toEqual({ isAllowed: true, remaining: 0, fullInMs: 1000, waitMs: 500 });
    expect(buckets.take("a", 250)).toEqual({ isAllowed: false, remaining: 0, fullInMs: 750, waitMs: 250 });
  });

  it("keeps at most its capacity, and drops the least recently used bucket", () => {
    const buckets = new TokenBuckets({ per_second: 1, burst: 1 }, 2);
    buckets.take("a", 0);
    buckets.take("b", 0);
    buckets.look("a", 0);
    buckets.take("c", 0);
    expect([buckets.size, buckets.has("a"), buckets.has("b"), buckets.has("c")]).toEqual([2, true, false, true]);
  });
});

describe("createRateLimiter", () => {
  const limits = { ...RATE_LIMITS, credential: { per_second: 1, burst: 2 }, address: { per_second: 1, burst: 3 } };

  it("counts each valid credential separately, from any address", () => {
    const limiter = createRateLimiter(limits, handClock());
    const [left, right] = ["Bearer a", "Bearer b"].map((value) => identifyClient(value, "10.0.0.1"));
    const elsewhere = identifyClient("Bearer a", "10.0.0.2");
    const verdicts = [left!, elsewhere, left!, right!].map((client) => limiter.onAuthenticated(client));
    expect(states(verdicts)).toEqual(["allowed", "allowed", "limited", "allowed"]);
    expect(limiter.onArrival(left!)).toMatchObject({ state: "limited", by: "credential" });
  });

  it("addresses of one IPv6 /48 share eight times the limit of an address, and another /48 has its own", () => {
    const limiter = createRateLimiter(limits, handClock());
    const ask = (address: string) => limiter.onAnonymous(identifyClient(undefined, address));
    const [first, ...others] = Array.from({ length: 30 }, (_, index) => ask(`2001:db8:1:${index.toString(16)}::1`));
    expect(first?.state).toBe("allowed");
    expect(states(others).filter((state) => state === "allowed")).toHaveLength(8 * limits.address.burst - 1);
    expect(others.at(-1)).toMatchObject({ by: "address", party: "site" });
    expect(limiter.onArrival(identifyClient(undefined, "2001:db8:1:ffff::1")).state).toBe("limited");
    expect(ask("2001:db8:2::1").state).toBe("allowed");
    expect(ask("192.0.2.1").state).toBe("allowed");
  });

  it("invalid credentials do not keep others at their address from signing in", () => {
    const limiter = createRateLimiter(limits, handClock());
    const [robot, person] = ["Bearer bad", undefined].map((token) => identifyClient(token, "10.0.0.1"));
    while (limiter.onAnonymous(robot!).state === "allowed");
    expect(states(Array.from({ length: 4 }, () => limiter.onPublic(person!)))).toEqual([
      "allowed",
      "allowed",
      "allowed",
      "limited",
    ]);
  });

  it("an address with too many guesses is limited, and credentials not seen before are still looked up", () => {
    const clock = handClock();
    const limiter = createRateLimiter(limits, clock);
    const good = identifyClient("Bearer good", "10.0.0.1");
    limiter.onAuthenticated(good);
    for (const guess of ["1", "2", "3"]) {
      const client = identifyClient(`Bearer ${guess}`, "10.0.0.1");
      expect(limiter.onArrival(client).state).toBe("allowed");
      limiter.onAnonymous(client);
    }
    const guess = identifyClient("Bearer 4", "10.0.0.1");
    expect(limiter.onArrival(guess).state).toBe("allowed");
    expect(limiter.onAnonymous(guess)).toMatchObject({ state: "limited", by: "address" });
    const fresh = identifyClient("Bearer fresh", "10.0.0.1");
    expect([limiter.onArrival(fresh).state, limiter.onAuthenticated(fresh).state]).toEqual(["allowed", "allowed"]);
    expect(limiter.onArrival(identifyClient(undefined, "10.0.0.1")).state).toBe("limited");
    expect(limiter.onArrival(good).state).toBe("allowed");
    expect(limiter.onArrival(identifyClient("Bearer 4", "10.0.0.9")).state).toBe("allowed");
    clock.nowMs += 1000;
    expect(limiter.onAnonymous(guess).state).toBe("allowed");
  });

  it("headers report the tokens left and the seconds until the bucket is full", () => {
    const limiter = createRateLimiter(limits, handClock());
    const client = identifyClient("Bearer a", "10.0.0.1");
    expect([limiter.onAuthenticated(client), limiter.onAuthenticated(client)]).toEqual([
      { state: "allowed", headers: { "ratelimit-policy": '"credential";q=2;w=2', ratelimit: '"credential";r=1;t=1' } },
      { state: "allowed", headers: { "ratelimit-policy": '"credential";q=2;w=2', ratelimit: '"credential";r=0;t=2' } },
    ]);
  });

  it("a credential that became invalid is unknown again", () => {
    const limiter = createRateLimiter(limits, handClock());
    const client = identifyClient("Bearer a", "10.0.0.1");
    limiter.onAuthenticated(client);
    for (let count = 0; count < 3; count += 1) limiter.onAnonymous(client);
    expect(limiter.onArrival(client).state).toBe("allowed");
    expect(limiter.onAnonymous(client)).toMatchObject({ state: "limited", by: "address" });
  });

  it.each([
    ["2001:db8::1", "2001:db8::ffff:1", true],
    ["2001:db8:0:0:1::1", "2001:db8::5", true],
    ["2001:db8:0:1::1", "2001:db8::1", false],
    ["::1", "::2", true],
    ["fe80::1%eth0", "fe80::2%eth0", true],
    ["::ffff:10.0.0.1", "10.0.0.1", true],
    ["::ffff:10.0.0.1", "10.0.0.2", false],
    ["10.0.0.1", "10.0.0.2", false],
  ])("%s and %s are one network: %s", (left, right, isOne) => {
    const networks = [left, right].map((address) => identifyClient(undefined, address).network);
    expect(networks[0] === networks[1]).toBe(isOne);
  });

  it("does not store credentials", () => {
    const { credential } = identifyClient("Bearer sk_rps_secret", "::1");
    expect(credential).not.toContain("secret");
  });

  it("after a power cut 3,000 robots with one key each get three requests through within a minute", () => {
    const clock = handClock();
    const limiter = createRateLimiter(RATE_LIMITS, clock);
    const client = identifyClient("Bearer a", "10.0.0.1");
    for (let request = 0; request < 9000; request += 1) {
      clock.nowMs += 60_000 / 9000;
      expect(limiter.onAuthenticated(client).state).toBe("allowed");
    }
  });
});
