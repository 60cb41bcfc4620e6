/** One line of the result, and its calculations. */
export interface Row {
  readonly what: string;
  readonly measured: string;
  readonly baseline: string;
  /** Measured ÷ baseline, null without a baseline. */
  readonly ratio: number | null;
  readonly budget: string;
  readonly verdict: Verdict;
}

/** `shown`: has no budget. `skipped`: cannot be measured on this machine. */
export type Verdict = "ok" | "OVER" | "shown" | "skipped";

/** The context of every measurement. */
export interface Bench {
  /** The agent's launcher as released. */
  readonly bundle: string;
  /** Fewer repetitions and shorter waits: verifies that the measurement works, figures are not representative. */
  readonly quick: boolean;
  /** Prints progress. */
  note(text: string): void;
}

/** A row whose budget is a ratio. */
export function compared(
  what: string,
  values: { readonly measured: number; readonly baseline: number; readonly limit: number | null; readonly unit: Unit },
): Row {
  const { measured, baseline, limit, unit } = values;
  const ratio = measured / baseline;
  return {
    what,
    measured: withUnit(measured, unit),
    baseline: withUnit(baseline, unit),
    ratio,
    budget: limit === null ? "" : `≤ ${limit} ×`,
    verdict: limit === null ? "shown" : verdictOf(ratio <= limit),
  };
}

/** A row whose budget is an absolute number. */
export function limited(
  what: string,
  values: { readonly measured: number; readonly limit: number | null; readonly unit: Unit; readonly baseline?: string },
): Row {
  const { measured, limit, unit } = values;
  return {
    what,
    measured: withUnit(measured, unit),
    baseline: values.baseline ?? "",
    ratio: null,
    budget: limit === null ? "" : `≤ ${withUnit(limit, unit)}`,
    verdict: limit === null ? "shown" : verdictOf(measured <= limit),
  };
}

export function skipped(what: string, why: string): Row {
  return { what, measured: why, baseline: "", ratio: null, budget: "", verdict: "skipped" };
}

export type Unit = "ms" | "s" | "MB" | "/min" | "";

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

function verdictOf(holds: boolean): Verdict {
  return holds ? "ok" : "OVER";
}

function withUnit(value: number, unit: Unit): string {
  const digits = unit === "" || unit === "/min" ? 0 : unit === "s" ? 2 : 1;
  return `${Number.isInteger(value) ? value : value.toFixed(digits)} ${unit}`.trimEnd();
}
