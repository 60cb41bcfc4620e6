import type { Finding } from "../../manifest/finding.ts";
import type { Position } from "../../manifest/lines.ts";
import type { Files } from "../../platform/files/files.ts";
import { readEditedFile } from "../kernel/edited-file.ts";
import type { Catalog } from "./catalog.ts";
import { CATALOG_LIMIT_BYTES, readCatalog } from "./catalog.ts";

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
