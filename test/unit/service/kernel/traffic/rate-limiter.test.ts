import { describe, expect, it } from "vitest";

import type { Clock } from "../../../../../src/platform/clock.ts";
import { readClientAddress } from "../../../../../src/service/kernel/traffic/client-address.ts";
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
    expect(buckets.look("a", 0).isAllowed).toBe(false);
    // A new bucket is full.
    expect(buckets.look("b", 0).isAllowed).toBe(true);
  });
});

describe("createRateLimiter", () => {
  const limits = { ...RATE_LIMITS, credential: { per_second: 1, burst: 2 }, address: { per_second: 1, burst: 3 } };

  const owner = (credentialId: string, organizationId = "org_1") => ({ credentialId, organizationId });

  it("counts each valid credential separately, and all of an organization together", () => {
    const limiter = createRateLimiter({ ...limits, organization: { per_second: 1, burst: 4 } }, handClock());
    const verdicts = ["a", "a", "a", "b", "c", "d"].map((id) => limiter.onCredential(owner(id)));
    expect(verdicts.map((verdict) => ("by" in verdict ? verdict.by : verdict.state))).toEqual([
      "allowed",
      "allowed",
      "credential",
      "allowed",
      "allowed",
      "organization",
    ]);
    expect(limiter.onCredential(owner("e", "org_2")).state).toBe("allowed");
  });

  it("addresses of one IPv6 /48 share eight times the limit of an address, and another /48 has its own", () => {
    const limiter = createRateLimiter(limits, handClock());
    const ask = (address: string) => limiter.onAnonymous(readClientAddress(address));
    const [first, ...others] = Array.from({ length: 30 }, (_, index) => ask(`2001:db8:1:${index.toString(16)}::1`));
    expect(first?.state).toBe("allowed");
    expect(states(others).filter((state) => state === "allowed")).toHaveLength(8 * limits.address.burst - 1);
    expect(others.at(-1)).toMatchObject({ by: "address" });
    expect(ask("2001:db8:1:ffff::1").state).toBe("limited");
    expect(ask("2001:db8:2::1").state).toBe("allowed");
    expect(ask("192.0.2.1").state).toBe("allowed");
  });

  it("invalid credentials keep neither people nor valid credentials at their address from the service", () => {
    const limiter = createRateLimiter(limits, handClock());
    const address = readClientAddress("10.0.0.1");
    while (limiter.onAnonymous(address).state === "allowed");
    expect(states(Array.from({ length: 4 }, () => limiter.onPublic(address)))).toEqual([
      "allowed",
      "allowed",
      "allowed",
      "limited",
    ]);
    expect(limiter.onSigned(address).state).toBe("allowed");
    expect(limiter.onCredential(owner("a")).state).toBe("allowed");
  });

  it("headers report the tokens left and the seconds until the bucket is full", () => {
    const limiter = createRateLimiter(limits, handClock());
    expect([limiter.onCredential(owner("a")), limiter.onCredential(owner("a"))]).toEqual([
      { state: "allowed", headers: { "ratelimit-policy": '"credential";q=2;w=2', ratelimit: '"credential";r=1;t=1' } },
      { state: "allowed", headers: { "ratelimit-policy": '"credential";q=2;w=2', ratelimit: '"credential";r=0;t=2' } },
    ]);
  });

  it("after a power cut 3,000 robots with one key each get three requests through within a minute", () => {
    const clock = handClock();
    const limiter = createRateLimiter(RATE_LIMITS, clock);
    for (let request = 0; request < 9000; request += 1) {
      clock.nowMs += 60_000 / 9000;
      expect(limiter.onCredential(owner("a")).state).toBe("allowed");
    }
  });
});
