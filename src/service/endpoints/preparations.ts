import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/** Number of newest preparations kept for each model. */
export const PREPARATIONS_MAXIMUM = 100;
/** A longer time is not a preparation: the endpoint was down, or the clock was set. */
export const PREPARATION_MAXIMUM_S = 6 * 3600;

/** How long endpoints of each model took to become healthy once they were needed, in seconds, shortest first. */
export async function loadPreparations(
  reader: Reader,
  modelSlugs: readonly string[],
): Promise<ReadonlyMap<string, readonly number[]>> {
  if (modelSlugs.length === 0) return new Map();
  const rows = await reader
    .selectFrom("preparations")
    .select(["model_slug", "seconds"])
    .where("model_slug", "in", modelSlugs)
    .orderBy("seconds")
    .execute();
  const byModel = Map.groupBy(rows, ({ model_slug: modelSlug }) => modelSlug);
  return new Map([...byModel].map(([modelSlug, found]) => [modelSlug, found.map(({ seconds }) => seconds)]));
}

/** Adds observations of one model, and deletes all but its newest `PREPARATIONS_MAXIMUM`. */
export async function addPreparations(
  transaction: Transaction,
  observations: readonly Tables["preparations"][],
): Promise<void> {
  const [first] = observations;
  if (first === undefined) return;
  const { model_slug: modelSlug } = first;
  await transaction.insertInto("preparations").values(observations).execute();
  const oldest = await transaction
    .selectFrom("preparations")
    .select("id")
    .where("model_slug", "=", modelSlug)
    .orderBy("id", "desc")
    .offset(PREPARATIONS_MAXIMUM - 1)
    .limit(1)
    .executeTakeFirst();
  if (oldest === undefined) return;
  await transaction
    .deleteFrom("preparations")
    .where("model_slug", "=", modelSlug)
    .where("id", "<", oldest.id)
    .execute();
}

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
