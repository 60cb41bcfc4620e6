import type { Finding, Position } from "../../documents/findings.ts";
import { isoNow } from "../../platform/clock.ts";
import type { Files } from "../../platform/files/files.ts";
import { readEditedFile } from "../kernel/edited-file.ts";
import type { OperationContext } from "../kernel/operation.ts";
import { commandAuthor } from "../kernel/store/audit.ts";
import { applyCatalog, readStoredCatalog } from "./catalog-queries.ts";
import { type Catalog, CATALOG_LIMIT_BYTES, readCatalog } from "./catalog.ts";
import { type CatalogChange, type CatalogPlan, countChanges, planCatalog } from "./plan.ts";

/** The outcome of applying a catalog. `refused`: nothing was applied. */
export type Application =
  | { readonly state: "applied"; readonly changes: readonly CatalogChange[] }
  | { readonly state: "refused"; readonly findings: readonly Finding[] };

/** Applies a catalog file to the store, completely or not at all. */
export async function applyCatalogFile(
  context: Pick<OperationContext, "store" | "newId" | "machine">,
  file: CatalogFile,
): Promise<Application> {
  const author = commandAuthor(context, null);
  return toApplication(await context.store.write((job) => applyCatalog(job, file.catalog, author)), file);
}

/** What `applyCatalogFile` would do now. Changes nothing. */
export async function previewCatalogFile(
  { store, machine }: Pick<OperationContext, "store" | "machine">,
  file: CatalogFile,
): Promise<Application> {
  const now = isoNow(machine.clock);
  return toApplication(planCatalog(await readStoredCatalog(store.reader), file.catalog, now), file);
}

function toApplication(plan: CatalogPlan, file: CatalogFile): Application {
  switch (plan.state) {
    case "planned":
      return { state: "applied", changes: plan.changes };
    case "moved":
      return {
        state: "refused",
        findings: plan.moved.map(({ id, stored_slug: storedSlug, loc }) => ({
          id: "checkpoint_moved",
          severity: "error",
          loc,
          message: `${id} belongs to the model ${storedSlug} and stays with it; give this checkpoint an id of its own`,
          ...file.locate(loc),
        })),
      };
  }
}

/** Maximum number of findings in a log line; the command of `fix` shows all. */
const LOGGED_FINDINGS_MAXIMUM = 10;

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
  const warnings = describeFindings(reading.file.findings);
  if (warnings.length > 0) log.warn("models_suspicious", { path, findings: warnings });
  log.info("models_applied", { path, ...countChanges(outcome.changes) });
  return null;
}

/** Like `applyModels`, for a running service: a problem is logged. */
export async function reapplyModels(path: string, context: OperationContext): Promise<void> {
  const findings = await applyModels(path, context);
  context.nudge();
  if (findings === null) return;
  const fix = `robot-policy-service models apply --dry-run ${path}`;
  context.machine.log.error("models_refused", { path, findings: describeFindings(findings), fix });
}

function describeFindings(findings: readonly Finding[]): readonly string[] {
  return findings.slice(0, LOGGED_FINDINGS_MAXIMUM).map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

const RULES = { subject: "catalog", example: "config/models.example.yaml", limitBytes: CATALOG_LIMIT_BYTES };

/** A valid catalog file. */
export interface CatalogFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly catalog: Catalog;
  /** Warnings. */
  readonly findings: readonly Finding[];
  locate(loc: string): Position;
}

export type CatalogFileReading =
  | { readonly state: "read"; readonly file: CatalogFile }
  | { readonly state: "refused"; readonly findings: readonly Finding[]; readonly bytes: Uint8Array | null };

/** Reads the catalog at `path`. A file that cannot be read is a finding, too. */
export async function readCatalogFile(files: Files, path: string): Promise<CatalogFileReading> {
  const bytes = await readEditedFile(files, path, RULES);
  if (!(bytes instanceof Uint8Array)) return { state: "refused", findings: [bytes], bytes: null };
  const { value: catalog, findings, locate } = readCatalog(bytes);
  if (catalog === null) return { state: "refused", findings, bytes };
  return { state: "read", file: { path, bytes, catalog, findings, locate } };
}
