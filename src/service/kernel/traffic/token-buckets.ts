import type { RateLimit } from "./limits.ts";

/** The state of a bucket after a token was asked for. */
export interface Taken {
  readonly isAllowed: boolean;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Time until the bucket is full again, if no more are taken. */
  readonly fullInMs: number;
  /** Time until the next token; 0 while there are some. */
  readonly waitMs: number;
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

/** Token buckets by name: at most `capacity` of them, the least recently used one is dropped first. */
export class TokenBuckets {
  readonly #limit: RateLimit;
  readonly #capacity: number;
  /** In the order of their last use. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: RateLimit, capacity: number) {
    this.#limit = limit;
    this.#capacity = capacity;
  }

  /** Takes one token from the bucket, if it has one. A new bucket is full. */
  take(name: string, nowMs: number): Taken {
    const bucket = this.#use(name, nowMs);
    const isAllowed = bucket.tokens >= 1;
    if (isAllowed) bucket.tokens -= 1;
    return this.#describe(bucket, isAllowed);
  }

  /** As `take`, without taking a token. */
  look(name: string, nowMs: number): Taken {
    const bucket = this.#use(name, nowMs);
    return this.#describe(bucket, bucket.tokens >= 1);
  }

  /** Takes this many tokens, even if the bucket has fewer; its balance may become negative. */
  spend(name: string, tokens: number, nowMs: number): void {
    this.#use(name, nowMs).tokens -= tokens;
  }

  #use(name: string, nowMs: number): Bucket {
    const { burst, per_second: perSecond } = this.#limit;
    const bucket = this.#buckets.get(name) ?? { tokens: burst, filledAtMs: nowMs };
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.filledAtMs) / 1000) * perSecond);
    bucket.filledAtMs = nowMs;
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > this.#capacity) this.#dropOldest();
    return bucket;
  }

  #dropOldest(): void {
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest);
      return;
    }
  }

  #describe({ tokens }: Bucket, isAllowed: boolean): Taken {
    const { burst, per_second: perSecond } = this.#limit;
    return {
      isAllowed,
      remaining: Math.floor(tokens),
      fullInMs: ((burst - tokens) / perSecond) * 1000,
      waitMs: tokens >= 1 ? 0 : ((1 - tokens) / perSecond) * 1000,
    };
  }
}
