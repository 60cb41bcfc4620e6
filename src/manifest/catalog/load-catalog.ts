import type { CatalogRow } from "./catalog.ts";

/** All rows. Loaded when needed: a boot of the agent needs none. */
export async function loadCatalog(): Promise<readonly CatalogRow[]> {
  const { CATALOG_ROWS } = await import("./rows.ts");
  return CATALOG_ROWS;
}
