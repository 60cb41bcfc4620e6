import { readBounded } from "../../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem } from "../../../platform/terminal.ts";
import type { Keep } from "../../configuration/configuration.ts";
import { ENCODE_PASSWORD, parseDatabaseUrl } from "../../configuration/readers.ts";
import type { StoreLocation } from "../../kernel/store/store.ts";

/** Flags that say where data is stored: one of the first two, or a configuration file that does. */
export interface StoreFlags {
  readonly data?: string | undefined;
  readonly database?: string | undefined;
  readonly config?: string | undefined;
}

/** Flags of every command that reads or changes a store. */
export interface CommandFlags extends StoreFlags {
  readonly json?: boolean;
}

export interface Refused {
  readonly state: "refused";
  readonly problem: Problem;
  readonly exitCode: ExitCode;
}

export type Located = { readonly state: "located"; readonly store: StoreLocation } | Refused;

/** Where data is stored: flags override the configuration file. No problem shows a URL, which may contain a password. */
export async function locateStore(flags: StoreFlags, keep: Keep | null, files: Files): Promise<Located> {
  if (flags.data !== undefined || flags.database !== undefined || keep === null) return fromFlags(flags);
  switch (keep.kind) {
    case "data":
      return { state: "located", store: { kind: "sqlite", dataDirectory: keep.directory } };
    case "database":
      return postgres(keep.url, keep.poolSize);
    case "database-file": {
      const url = await readUrlFile(keep.urlFile, files);
      return typeof url === "string"
        ? postgres(url, keep.poolSize)
        : { state: "refused", problem: url, exitCode: EXIT.failed };
    }
  }
}

function postgres(url: string, poolSize: number | null): Located {
  return { state: "located", store: { kind: "postgres", url, ...(poolSize === null ? {} : { poolSize }) } };
}

/** Maximum size of a file with a URL. */
const URL_FILE_BYTES = 8192;

async function readUrlFile(path: string, files: Files): Promise<string | Problem> {
  try {
    const bytes = await readBounded(files, path, URL_FILE_BYTES);
    const url = bytes === "too-large" ? "" : Buffer.from(bytes).toString("utf8").trim();
    if (parseDatabaseUrl(url) !== null) return url;
    return {
      code: "database-url-invalid",
      what: "the file does not contain the URL of a PostgreSQL database",
      where: path,
      fix: `write one line into it, such as postgres://USER:PASSWORD@HOST:5432/DATABASE; ${ENCODE_PASSWORD}`,
    };
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return {
      code: "database-url-unreadable",
      what: `the file with the URL of the database cannot be read (${code})`,
      where: path,
      fix: "set database.url_file to a file that exists and that this user may read",
    };
  }
}

function fromFlags({ data, database }: StoreFlags): Located {
  if (data !== undefined && database !== undefined) {
    return usage("--data and --database name two different places", "omit one of them");
  }
  if (database !== undefined) {
    return parseDatabaseUrl(database) === null
      ? usage(
          "the database is not a PostgreSQL URL",
          `write for example --database postgres://USER:PASSWORD@HOST:5432/DATABASE; ${ENCODE_PASSWORD}`,
        )
      : postgres(database, null);
  }
  if (data === undefined || data === "") {
    return usage(
      "the place of the data is not given",
      "give --data DIR, --database URL for PostgreSQL, or --config FILE with one of them in the file",
    );
  }
  return { state: "located", store: { kind: "sqlite", dataDirectory: data } };
}

function usage(what: string, fix: string): Refused {
  return { state: "refused", problem: { code: "usage", what, fix }, exitCode: EXIT.usage };
}
