import type { RateLimit } from "./rate-limits.ts";

/** What taking a token came to. */
export interface Taken {
  readonly is_allowed: boolean;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Until the bucket is full again, when nobody takes more. */
  readonly full_in_ms: number;
  /** Until the next token is there; 0 while there are some. */
  readonly wait_ms: number;
}

interface Bucket {
  tokens: number;
  filled_at_ms: number;
}

/** Token buckets by name: at most `capacity` of them, and the least recently used one goes first. */
export class TokenBuckets {
  readonly #limit: RateLimit;
  readonly #capacity: number;
  /** In the order of their last use. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: RateLimit, capacity: number) {
    this.#limit = limit;
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#buckets.size;
  }

  has(name: string): boolean {
    return this.#buckets.has(name);
  }

  forget(name: string): void {
    this.#buckets.delete(name);
  }

  /** Takes one token from the bucket, if it has one. A bucket that is not there yet is full. */
  take(name: string, now_ms: number): Taken {
    const bucket = this.#use(name, now_ms);
    const is_allowed = bucket.tokens >= 1;
    if (is_allowed) bucket.tokens -= 1;
    return this.#describe(bucket, is_allowed);
  }

  /** What `take` would say, without taking. */
  look(name: string, now_ms: number): Taken {
    const bucket = this.#use(name, now_ms);
    return this.#describe(bucket, bucket.tokens >= 1);
  }

  /** Takes as many tokens as something came to, also those that the bucket does not have yet. */
  spend(name: string, tokens: number, now_ms: number): void {
    this.#use(name, now_ms).tokens -= tokens;
  }

  #use(name: string, now_ms: number): Bucket {
    const { burst, per_second } = this.#limit;
    const bucket = this.#buckets.get(name) ?? { tokens: burst, filled_at_ms: now_ms };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now_ms - bucket.filled_at_ms) / 1000) * per_second);
    bucket.filled_at_ms = now_ms;
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

  #describe({ tokens }: Bucket, is_allowed: boolean): Taken {
    const { burst, per_second } = this.#limit;
    return {
      is_allowed,
      remaining: Math.floor(tokens),
      full_in_ms: ((burst - tokens) / per_second) * 1000,
      wait_ms: tokens >= 1 ? 0 : ((1 - tokens) / per_second) * 1000,
    };
  }
}
