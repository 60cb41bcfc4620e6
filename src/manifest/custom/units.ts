/** Units of vector elements and what they are converted to: SPEC section 7, step 3. */
import type { Unit } from "./shape.ts";

/** The contract's units. Dimensionless elements have `1`. */
export type CanonicalUnit = "rad" | "m" | "1";

interface Conversion {
  readonly canonical: CanonicalUnit;
  /** Canonical = scale × native. */
  readonly scale: number;
}

const CONVERSIONS: Readonly<Record<Unit, Conversion>> = {
  rad: { canonical: "rad", scale: 1 },
  deg: { canonical: "rad", scale: Math.PI / 180 },
  m: { canonical: "m", scale: 1 },
  mm: { canonical: "m", scale: 0.001 },
  ratio: { canonical: "1", scale: 1 },
  percent: { canonical: "1", scale: 0.01 },
  calibrated_range: { canonical: "1", scale: 0.01 },
  // Of a whole turn: the group says how many there are (`nativeScale`).
  counts: { canonical: "rad", scale: 2 * Math.PI },
};

export function conversion(unit: Unit): Conversion {
  return CONVERSIONS[unit];
}

/** True for angles and lengths; a ratio does not say how far something moves. */
export function hasDimension(unit: Unit): boolean {
  return CONVERSIONS[unit].canonical !== "1";
}

/** Whether one unit can be converted to the other. Only a group in counts says how many a turn has. */
export function isConvertible(from: Unit, to: Unit): boolean {
  if (from === "counts" && to !== "counts") return false;
  return CONVERSIONS[from].canonical === CONVERSIONS[to].canonical;
}

/** As the contract shows it: 12 significant decimal digits, no negative zero (SPEC section 7, step 8). */
export function rounded(value: number): number {
  return Number(value.toPrecision(12)) + 0;
}
