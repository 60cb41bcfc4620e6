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
