import { audit, type Authorship } from "../kernel/store/audit.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Catalog } from "./catalog.ts";
import { type CatalogPlan, countChanges, planCatalog, type StoredCatalog } from "./plan.ts";

/** Id of the only row. */
const CATALOG_ID = "models";

/**
 * Applies a catalog to the store, or nothing of it if a checkpoint would change its model. Concurrent calls run one after the other.
 */
export async function applyCatalog(
  transaction: Transaction,
  catalog: Catalog,
  authorship: Authorship,
): Promise<CatalogPlan> {
  await lockCatalog(transaction);
  const plan = planCatalog(await readStoredCatalog(transaction), catalog, authorship.at);
  if (plan.state === "moved") return plan;
  await transaction.updateTable("catalogs").set({ applied_at: authorship.at }).where("id", "=", CATALOG_ID).execute();
  const { unchanged: _, ...counts } = countChanges(plan.changes);
  if (counts.added + counts.changed + counts.withdrawn === 0) return plan;
  await writePlan(transaction, plan);
  await audit(transaction, authorship, { action: "models.apply", subjectId: CATALOG_ID, details: counts });
  return plan;
}

/** Serializes concurrent changes: the second waits here and then reads what the first wrote. */
async function lockCatalog(transaction: Transaction): Promise<void> {
  await transaction
    .insertInto("catalogs")
    .values({ id: CATALOG_ID, applied_at: null })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ id: CATALOG_ID }))
    .execute();
}

/** All catalog rows of the store, including withdrawn ones, unordered. */
export async function readStoredCatalog(reader: Reader): Promise<StoredCatalog> {
  const models = await reader.selectFrom("models").selectAll().execute();
  const checkpoints = await reader.selectFrom("checkpoints").selectAll().execute();
  const endpoints = await reader.selectFrom("endpoints").selectAll().execute();
  return { models, checkpoints, endpoints };
}

async function writePlan(
  transaction: Transaction,
  { models, checkpoints, freshEndpoints, keptEndpoints }: Extract<CatalogPlan, { state: "planned" }>,
): Promise<void> {
  for (const row of models) {
    const { slug: _, created_at: __, ...facts } = row;
    await transaction
      .insertInto("models")
      .values(row)
      .onConflict((conflict) => conflict.column("slug").doUpdateSet(facts))
      .execute();
  }
  for (const row of checkpoints) {
    const { id: _, model_slug: __, ...facts } = row;
    await transaction
      .insertInto("checkpoints")
      .values(row)
      .onConflict((conflict) => conflict.column("id").doUpdateSet(facts))
      .execute();
  }
  for (const row of freshEndpoints) {
    const { checkpoint_id: _, region: __, ...facts } = row;
    await transaction
      .insertInto("endpoints")
      .values(row)
      .onConflict((conflict) => conflict.columns(["checkpoint_id", "region"]).doUpdateSet(facts))
      .execute();
  }
  for (const { checkpoint_id: checkpointId, region, url, withdrawn_at: withdrawnAt } of keptEndpoints) {
    await transaction
      .updateTable("endpoints")
      .set({ url, withdrawn_at: withdrawnAt })
      .where("checkpoint_id", "=", checkpointId)
      .where("region", "=", region)
      .execute();
  }
}
