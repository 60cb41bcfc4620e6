/** All randomness of a simulation, from one seed: the same seed yields the same sequence. */
export interface Dice {
  /** A number in [0, 1). */
  unit(): number;
  /** A whole number in [0, count). */
  below(count: number): number;
  between(minimum: number, maximum: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** An independent sequence, so that draws of one part do not change those of another. */
  fork(): Dice;
}

export function createDice(seed: number): Dice {
  const unit = sfc32(seed);
  const below = (count: number) => Math.floor(unit() * count);
  return {
    unit,
    below,
    between: (minimum, maximum) => minimum + unit() * (maximum - minimum),
    chance: (probability) => unit() < probability,
    pick(list) {
      const picked = list[below(list.length)];
      if (picked === undefined) throw new RangeError("Cannot pick from nothing");
      return picked;
    },
    fork: () => createDice(Math.floor(unit() * 0x1_0000_0000)),
  };
}

/** Chris Doty-Humphrey's sfc32: small, fast and without visible patterns (PractRand). */
function sfc32(seed: number): () => number {
  let a = seed >>> 0;
  let b = 0x9e3779b9;
  let c = 0x243f6a88;
  let counter = 1;
  const next = () => {
    const sum = (a + b + counter) >>> 0;
    counter = (counter + 1) >>> 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) >>> 0;
    c = ((c << 21) | (c >>> 11)) >>> 0;
    c = (c + sum) >>> 0;
    return sum / 0x1_0000_0000;
  };
  // Skip the first numbers, which are similar for similar seeds.
  for (let round = 0; round < 15; round += 1) next();
  return next;
}
