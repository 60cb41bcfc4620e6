import { randomBytes } from "./crypto.ts";

/** Random numbers. A simulated machine replays them from a seed. */
export interface Random {
  /** A number in [0, 1), for jitter. Not for secrets. */
  unit(): number;
  /** Unpredictable bytes. */
  bytes(count: number): Uint8Array;
}

export const systemRandom: Random = {
  unit: () => Math.random(),
  bytes: (count) => randomBytes(count),
};
