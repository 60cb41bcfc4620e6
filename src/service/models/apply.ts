import type { Finding } from "../../manifest/finding.ts";
import type { OperationContext } from "../kernel/operation.ts";
import { commandAuthor } from "../kernel/store/audit.ts";
import type { CatalogFile } from "./catalog-file.ts";
import { applyCatalog, readStoredCatalog } from "./catalog-queries.ts";
import type { CatalogChange, CatalogPlan } from "./plan.ts";
import { planCatalog } from "./plan.ts";

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
  const now = new Date(machine.clock.wallMs()).toISOString();
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
