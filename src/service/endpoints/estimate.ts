/** The probable duration: between these numbers of seconds. */
export interface ReadinessEstimateRange {
  readonly lowerSeconds: number;
  readonly upperSeconds: number;
}

const LOWER_QUANTILE = 0.1;
const UPPER_QUANTILE = 0.9;

/**
 * The remaining duration of a preparation that has run for `elapsedSeconds`: the 10th to the 90th percentile of the observed ones that took
 * longer than that.
 *
 * @param preparations in seconds, shortest first.
 * @returns null if none took longer.
 */
export function preparationRange(
  preparations: readonly number[],
  elapsedSeconds: number,
): ReadinessEstimateRange | null {
  const longer = preparations.filter((seconds) => seconds > elapsedSeconds);
  const lower = quantile(longer, LOWER_QUANTILE);
  const upper = quantile(longer, UPPER_QUANTILE);
  if (lower === undefined || upper === undefined) return null;
  return { lowerSeconds: Math.ceil(lower - elapsedSeconds), upperSeconds: Math.ceil(upper - elapsedSeconds) };
}

/** The nearest-rank quantile: always one of the observations. */
function quantile(sorted: readonly number[], part: number): number | undefined {
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];
}
