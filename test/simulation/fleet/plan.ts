import type { Dice } from "../dice.ts";

/** A planned action. Leaving out some actions does not change the others. */
export interface Act {
  readonly index: number;
  readonly atMs: number;
  readonly what: string;
  readonly dice: Dice;
  run(dice: Dice): void;
}

export interface Kind {
  readonly what: string;
  readonly weight: number;
  /** After this action, times of decisions are not known to the second. */
  readonly isUnsteady?: true;
  run(dice: Dice): void;
}

/** Draws actions until `untilMs`, on average every `meanMs`. */
export function drawPlan(dice: Dice, kinds: readonly Kind[], meanMs: number, untilMs: number): readonly Act[] {
  // Each seed leaves out some kinds of actions (Groce et al., Swarm Testing, 2012).
  const mixed = kinds.map((kind) => ({ ...kind, weight: kind.weight * dice.pick([0, 0.5, 1, 1, 4]) }));
  const weights = mixed.reduce((sum, { weight }) => sum + weight, 0);
  const acts: Act[] = [];
  if (weights === 0) return acts;
  let atMs = 0;
  for (let index = 0; ; index += 1) {
    atMs += -meanMs * Math.log(1 - dice.unit());
    if (atMs >= untilMs) return acts;
    let left = dice.unit() * weights;
    const kind = mixed.find(({ weight }) => (left -= weight) < 0) ?? mixed[0];
    if (kind === undefined) return acts;
    acts.push({ index, atMs, what: kind.what, run: kind.run, dice: dice.fork() });
  }
}
