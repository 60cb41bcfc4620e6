import { randomBytes } from "node:crypto";

/** Entropy, so that a simulated machine can be replayed from a seed. */
export interface Random {
  /** A number in [0, 1), for jitter. Not for secrets. */
  unit(): number;
  /** Unpredictable bytes. */
  bytes(count: number): Uint8Array;
}

/** Fetched at once for many small wishes: asking the system costs more than the bytes. */
const POOL_BYTES = 2048;

let pool = new Uint8Array();

export const systemRandom: Random = {
  unit: () => Math.random(),
  bytes(count) {
    if (count > POOL_BYTES) return randomBytes(count);
    if (count > pool.length) pool = randomBytes(POOL_BYTES);
    const bytes = pool.slice(0, count);
    // Nobody is given the same bytes again.
    pool = pool.subarray(count);
    return bytes;
  },
};
