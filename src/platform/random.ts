import { randomBytes } from "./crypto.ts";

/** Random numbers. A simulated machine replays them from a seed. */
export interface Random {
  /** A number in [0, 1), for jitter. Not for secrets. */
  unit(): number;
  /** Unpredictable bytes. */
  bytes(count: number): Uint8Array;
}

/** Size of the pool for small requests, because the system call costs more than the bytes. */
const POOL_BYTES = 2048;

let pool = new Uint8Array();

export const systemRandom: Random = {
  unit: () => Math.random(),
  bytes(count) {
    if (count > POOL_BYTES) return randomBytes(count);
    if (count > pool.length) pool = randomBytes(POOL_BYTES);
    const bytes = pool.slice(0, count);
    // Clear the bytes, so that none are used twice.
    pool = pool.subarray(count);
    return bytes;
  },
};
