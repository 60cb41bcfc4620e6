import { fail, type Fields, mapping, type Place, type Reader } from "../../documents/fields.ts";
import { absolutePath, integer } from "../../documents/readers.ts";
import { databaseUrl, isWritten } from "./readers.ts";

/** Where data is stored. */
export type Keep =
  | { readonly kind: "data"; readonly directory: string }
  | { readonly kind: "database"; readonly url: string; readonly poolSize: number | null }
  | { readonly kind: "database-file"; readonly urlFile: string; readonly poolSize: number | null };

export const POOL_SIZE = { minimum: 1, maximum: 200 } as const;

/** `data` or `database` of the root; null if neither is set. */
export function readKeep(fields: Fields, place: Place): Keep | null {
  const directory = fields.optional("data", absolutePath);
  const database = fields.optional("database", readDatabase);
  if (directory !== undefined && database !== undefined) {
    fail(place, "conflict", "data and database are both set; data is stored in one place, so omit one of them");
  }
  return directory === undefined ? (database ?? null) : { kind: "data", directory };
}

const readDatabase: Reader<Keep> = mapping((fields, place) => {
  const url = fields.optional("url", databaseUrl);
  const urlFile = fields.optional("url_file", absolutePath);
  const poolSize = fields.optional("pool_size", integer(POOL_SIZE)) ?? null;
  if (url !== undefined && urlFile !== undefined) {
    fail(place, "conflict", "url and url_file are both set; leave one of them out");
  } else if (!isWritten(place, "url") && !isWritten(place, "url_file")) {
    fail(place, "missing", "one of url and url_file is required");
  }
  if (url !== undefined) return { kind: "database", url, poolSize };
  return urlFile === undefined ? undefined : { kind: "database-file", urlFile, poolSize };
});
