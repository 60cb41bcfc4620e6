import { readBounded } from "../../../platform/files/durable-file.ts";
import type { Files } from "../../../platform/files/files.ts";
import { errorCode } from "../../../platform/files/files.ts";
import type { Problem } from "../../../platform/terminal.ts";
import type { Keep } from "../../configuration/keep.ts";
import type { StoreLocation } from "../../kernel/store/store.ts";

/** Flags that say where everything is kept: one of the first two, or a configuration file that does. */
export interface StoreFlags {
  readonly data?: string | undefined;
  readonly database?: string | undefined;
  readonly config?: string | undefined;
}

export type Located =
  | { readonly state: "located"; readonly store: StoreLocation }
  | { readonly state: "usage"; readonly problem: Problem }
  | { readonly state: "failed"; readonly problem: Problem };

/** Where everything is kept: what flags say of it replaces what the configuration file says. No problem shows a URL: it may hold a password. */
export async function locateStore(flags: StoreFlags, keep: Keep | null, files: Files): Promise<Located> {
  if (flags.data !== undefined || flags.database !== undefined || keep === null) return fromFlags(flags);
  switch (keep.kind) {
    case "data":
      return { state: "located", store: { kind: "sqlite", data_directory: keep.directory } };
    case "database":
      return { state: "located", store: postgres(keep.url, keep.poolSize) };
    case "database-file": {
      const url = await readUrlFile(keep.urlFile, files);
      if (typeof url !== "string") return { state: "failed", problem: url };
      const located = fromFlags({ database: url });
      if (located.state !== "located") return { state: "failed", problem: notAUrl(keep.urlFile) };
      return { state: "located", store: postgres(url, keep.poolSize) };
    }
  }
}

function fromFlags(flags: StoreFlags): Located {
  const location = storeLocation(flags);
  return "code" in location ? { state: "usage", problem: location } : { state: "located", store: location };
}

function postgres(url: string, poolSize: number | null): StoreLocation {
  return poolSize === null ? { kind: "postgres", url } : { kind: "postgres", url, pool_size: poolSize };
}

/** A line with an address; more is something else. */
const URL_FILE_BYTES = 8192;

async function readUrlFile(path: string, files: Files): Promise<string | Problem> {
  try {
    const bytes = await readBounded(files, path, URL_FILE_BYTES);
    return bytes === "too-large" ? notAUrl(path) : Buffer.from(bytes).toString("utf8").trim();
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return {
      code: "database-url-unreadable",
      what: `The file with the address of the database cannot be read (${code}).`,
      where: path,
      fix: "Name in database.url_file a file that is there and that this user may read.",
    };
  }
}

function notAUrl(path: string): Problem {
  return {
    code: "database-url-invalid",
    what: "The file holds no address of a PostgreSQL database.",
    where: path,
    fix: "Write one line into it, such as postgres://USER:PASSWORD@HOST:5432/DATABASE.",
  };
}

function storeLocation({ data, database }: Pick<StoreFlags, "data" | "database">): StoreLocation | Problem {
  if (data !== undefined && database !== undefined) {
    return usage("--data and --database name two different places.", "Leave one of them out.");
  }
  if (database !== undefined) {
    if (!isPostgresUrl(database)) {
      return usage(
        "The database is not given as a URL of PostgreSQL.",
        "Write for example --database postgres://USER:PASSWORD@HOST:5432/DATABASE.",
      );
    }
    return { kind: "postgres", url: database };
  }
  if (data === undefined || data === "") {
    return usage(
      "Nothing says where everything is kept.",
      "Give --data DIR, --database URL for PostgreSQL, or --config FILE with either in it.",
    );
  }
  return { kind: "sqlite", data_directory: data };
}

function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && ["postgres:", "postgresql:"].includes(new URL(text).protocol);
}

function usage(what: string, fix: string): Problem {
  return { code: "usage", what, fix };
}
