import type { CatalogRow } from "./catalog.ts";

/** All rows. Loaded when asked for: a boot of the agent does without them. */
export async function loadCatalog(): Promise<readonly CatalogRow[]> {
  const { CATALOG_ROWS } = await import("./rows.ts");
  return CATALOG_ROWS;
}
