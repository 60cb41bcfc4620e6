/** Applies the catalog file of a site to the store. */
import type { Finding } from "../../documents/findings.ts";
import { isoNow } from "../../platform/clock.ts";
import type { OperationContext } from "../kernel/operation.ts";
import { audit, type Authorship, commandAuthor } from "../kernel/store/audit.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import { type CatalogFile, readCatalogFile } from "./catalog.ts";
import { markReferences } from "../robots/index.ts";
import { referenceRobots, resolveTrainings } from "./references.ts";
import { type CatalogPlan, countChanges, planCatalog, type StoredCatalog } from "./plan.ts";

/** Applies a catalog file, completely or not at all. Concurrent calls run one after the other. */
export function applyCatalogFile(
  context: Pick<OperationContext, "store" | "newId" | "machine">,
  file: CatalogFile,
): Promise<CatalogPlan> {
  const author = commandAuthor(context, null);
  return context.store.write((transaction) => applyCatalog(transaction, file, author));
}

/** What `applyCatalogFile` would do now. Changes nothing. */
export async function previewCatalogFile(
  { store, machine }: Pick<OperationContext, "store" | "machine">,
  file: CatalogFile,
): Promise<CatalogPlan> {
  return makePlan(store.reader, file, isoNow(machine.clock));
}

/**
 * Applies the catalog at `path` to the store.
 *
 * @returns null, or the problem with the catalog; then the store is unchanged.
 */
export async function applyModels(
  path: string,
  context: Pick<OperationContext, "store" | "newId" | "machine">,
): Promise<readonly Finding[] | null> {
  const { files, log } = context.machine;
  const reading = await readCatalogFile(files, path);
  if (reading.state === "refused") return reading.findings;
  const outcome = await applyCatalogFile(context, reading.file);
  if (outcome.state === "refused") return outcome.findings;
  log.info("models_applied", { path, ...countChanges(outcome.changes) });
  return null;
}

/** Maximum number of findings in a log line; the command of `fix` shows all. */
const LOGGED_FINDINGS_MAXIMUM = 10;

/** Like `applyModels`, for a running service: a problem is logged. */
export async function reapplyModels(path: string, context: OperationContext): Promise<void> {
  const refused = await applyModels(path, context);
  context.nudge();
  if (refused === null) return;
  const findings = refused
    .slice(0, LOGGED_FINDINGS_MAXIMUM)
    .map(({ line, column, message }) => `${line}:${column}: ${message}`);
  const fix = `robot-policy-service models apply --dry-run ${path}`;
  context.machine.log.error("models_refused", { path, findings, fix });
}

/** Id of the only row. */
const CATALOG_ID = "models";

async function applyCatalog(transaction: Transaction, file: CatalogFile, author: Authorship): Promise<CatalogPlan> {
  await lockCatalog(transaction);
  const plan = await makePlan(transaction, file, author.at);
  if (plan.state === "refused") return plan;
  await transaction.updateTable("catalogs").set({ applied_at: author.at }).where("id", "=", CATALOG_ID).execute();
  if (plan.changes.length === 0) return plan;
  await writePlan(transaction, plan);
  await markReferences(transaction, plan.checkpoints.flatMap(referenceRobots));
  const details = countChanges(plan.changes);
  await audit(transaction, author, { action: "models.apply", subjectId: CATALOG_ID, details });
  return plan;
}

async function makePlan(reader: Reader, file: CatalogFile, now: string): Promise<CatalogPlan> {
  const stored = await readStoredCatalog(reader);
  const { trainings, findings } = await resolveTrainings(reader, file, stored.checkpoints);
  return findings.length > 0 ? { state: "refused", findings } : planCatalog(stored, file, now, trainings);
}

/** A concurrent change waits here and then reads what this one wrote. So does the result of a probe, which must not be overwritten. */
async function lockCatalog(transaction: Transaction): Promise<void> {
  await transaction
    .insertInto("catalogs")
    .values({ id: CATALOG_ID, applied_at: null })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ id: CATALOG_ID }))
    .execute();
  await transaction.selectFrom("endpoints").select("region").forUpdate().execute();
}

/** All catalog rows of the store, including withdrawn ones, unordered. */
async function readStoredCatalog(reader: Reader): Promise<StoredCatalog> {
  const models = await reader.selectFrom("models").selectAll().execute();
  const checkpoints = await reader.selectFrom("checkpoints").selectAll().execute();
  const endpoints = await reader.selectFrom("endpoints").selectAll().execute();
  return { models, checkpoints, endpoints };
}

async function writePlan(
  transaction: Transaction,
  { models, checkpoints, endpoints }: Extract<CatalogPlan, { state: "planned" }>,
): Promise<void> {
  for (const row of models) {
    await transaction
      .insertInto("models")
      .values(row)
      .onConflict((conflict) => conflict.column("slug").doUpdateSet(row))
      .execute();
  }
  for (const row of checkpoints) {
    await transaction
      .insertInto("checkpoints")
      .values(row)
      .onConflict((conflict) => conflict.column("id").doUpdateSet(row))
      .execute();
  }
  for (const row of endpoints) {
    await transaction
      .insertInto("endpoints")
      .values(row)
      .onConflict((conflict) => conflict.columns(["checkpoint_id", "region"]).doUpdateSet(row))
      .execute();
  }
}
