import { errorCode } from "../../../platform/files/files.ts";
import type { Problem } from "../../../platform/terminal.ts";
import { isPermissionDenied, MAKE_WRITABLE, systemReason } from "../system-reason.ts";
import { NewerSchemaError, NoStoreError } from "./migrator.ts";
import type { StoreLocation } from "./store.ts";
import { StoreUnavailableError, unavailable, WrongEncodingError } from "./unavailable.ts";

/** The message for a store that could not be opened or used; null for a bug. */
export function storeProblem(error: unknown, location: StoreLocation): Problem | null {
  const cause = unavailable(error);
  const where = describeLocation(location);
  if (cause instanceof NewerSchemaError) {
    return {
      code: "store-is-newer",
      what: `the store cannot be used: ${cause.message}`,
      where,
      fix: "run at least that version; a schema never goes back; a backup made before the upgrade can be restored",
    };
  }
  if (cause instanceof NoStoreError) return noStore(location);
  switch (location.kind) {
    case "sqlite":
      return isOfTheMachine(cause) ? directoryProblem(cause, where) : null;
    case "postgres":
      return cause instanceof StoreUnavailableError ? databaseProblem(cause, location.url, where) : null;
  }
}

/** The location of the store for display: a URL without password and parameters. */
export function describeLocation(location: StoreLocation): string {
  if (location.kind === "sqlite") return location.dataDirectory;
  if (!URL.canParse(location.url)) return "the database URL";
  const { protocol, username, host, pathname } = new URL(location.url);
  return `${protocol}//${username === "" ? "" : `${username}@`}${host}${pathname}`;
}

/** Whether the URL of a database has a password: before the host, or as a parameter, which `pg` prefers. */
export function hasPassword({ password, searchParams }: URL): boolean {
  return password !== "" || searchParams.has("password");
}

/** The location exists, but contains no store. */
export function noStore(location: StoreLocation): Problem {
  const [what, fix] =
    location.kind === "sqlite"
      ? ["in this directory", "check --data; a new store is made by the first: robot-policy-service serve --data DIR"]
      : [
          "in this database",
          "check --database; a new store is made by the first: robot-policy-service serve --database URL",
        ];
  return {
    code: "no-store",
    what: `there is no store of robot-policy-service ${what}`,
    where: describeLocation(location),
    fix,
  };
}

const ERRNO = /^E(?!RR_)[A-Z0-9]+$/;

/** Whether it is an error of the system or of SQLite, rather than a bug. */
function isOfTheMachine(error: unknown): error is Error {
  if (error instanceof StoreUnavailableError) return true;
  const code = errorCode(error);
  return error instanceof Error && (code === "ERR_SQLITE_ERROR" || ERRNO.test(code ?? ""));
}

function directoryProblem(error: Error, where: string): Problem {
  return {
    code: "data-directory-unusable",
    what: `the data directory cannot be used: ${systemReason(error)}`,
    where,
    fix: isPermissionDenied(error)
      ? "run this as root or as the user of the service, for example with sudo"
      : (DIRECTORY_REMEDIES.get(errorCode(error) ?? "") ??
        "run this as root or as the user of the service, and make sure that its disk is not full"),
  };
}

const ANOTHER_DIRECTORY = "name with --data a directory that is there, or one that can be made";

const DIRECTORY_REMEDIES: ReadonlyMap<string, string> = new Map([
  ["EEXIST", ANOTHER_DIRECTORY],
  ["ENOENT", ANOTHER_DIRECTORY],
  ["ENOTDIR", ANOTHER_DIRECTORY],
  ["ENOSPC", "make room on its disk"],
  ["EROFS", MAKE_WRITABLE],
]);

const PASSWORD_REFUSED = "28P01";

const CHECK_HOST = "check the host in the database URL";
const NAME_AUTHORITY =
  "name the authority of its certificate at the end of the database URL: ?sslmode=verify-full&sslrootcert=/path/to/ca.pem";
const RENEW = "renew the certificate of the server, and check the clock of this computer";
const CHECK_FILES = "check the files that sslrootcert, sslcert and sslkey in the database URL name";

/** Remedies by SQLSTATE or by errno. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  [
    PASSWORD_REFUSED,
    "check user and password in the database URL; write @ : / # ? % in them as %40 %3A %2F %23 %3F %25",
  ],
  [
    "28000",
    "check the user in the database URL, and that pg_hba.conf lets it in from here; where that asks for encryption, add ?sslmode=verify-full to the URL",
  ],
  ["3D000", "make the database first, for example: createdb robot-policy"],
  ["42501", "let the user of the URL create tables in this database, or make it the owner"],
  ["25006", "this server is a standby; name the primary in the database URL"],
  ["53300", "raise max_connections of the server, or lower the pool size of each service"],
  [
    "08P01",
    "if a pooler such as PgBouncer stands in between, check its database, user and limits, and look into its log",
  ],
  ["ENOTFOUND", CHECK_HOST],
  ["EAI_AGAIN", "check the host in the database URL and the name server"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", NAME_AUTHORITY],
  ["SELF_SIGNED_CERT_IN_CHAIN", NAME_AUTHORITY],
  ["UNABLE_TO_GET_ISSUER_CERT", NAME_AUTHORITY],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", NAME_AUTHORITY],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", NAME_AUTHORITY],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "write a host into the database URL that the certificate of the server names"],
  ["CERT_HAS_EXPIRED", RENEW],
  ["CERT_NOT_YET_VALID", RENEW],
  ["ENOENT", CHECK_FILES],
  ["EACCES", CHECK_FILES],
]);

const NOBODY_ANSWERS = "make sure that PostgreSQL runs there and accepts connections of this user";

/** The message of `pg` when the URL requires TLS. */
const NO_TLS = "does not support SSL connections";

/** The message of `pg` when the server requires a password by SCRAM and the URL has none. With MD5 it sends an empty one, which is refused. */
const NO_PASSWORD = "client password must be a string";

function databaseProblem(error: StoreUnavailableError, url: string, where: string): Problem {
  const isRefused = errorCode(error.cause) === PASSWORD_REFUSED;
  if (error.message.includes(NO_PASSWORD) || (isRefused && !hasPassword(new URL(url)))) {
    return {
      code: "database-password-missing",
      what: "the database asks for a password, and its URL has none",
      where,
      fix: "write it into the URL, postgres://USER:PASSWORD@HOST/DATABASE; in a file named by database.url_file nobody sees it",
    };
  }
  if (error instanceof WrongEncodingError) {
    return {
      code: "database-encoding",
      what: `the database cannot be used: ${error.message}`,
      where,
      fix: "make another one: createdb --encoding UTF8 --template template0 NAME; a store that is in this one moves by backup and restore",
    };
  }
  return {
    code: "database-unreachable",
    what: `the database cannot be used: ${reasonOf(error)}`,
    where,
    fix: remedyFor(error),
  };
}

function remedyFor({ message, cause }: StoreUnavailableError): string {
  if (message.includes(NO_TLS)) return "turn on ssl in postgresql.conf, or take sslmode out of the database URL";
  const code = errorCode(cause) ?? "";
  const isAnswer = cause instanceof Error && "severity" in cause;
  return REMEDIES.get(code) ?? (isAnswer ? `look for SQLSTATE ${code} in the log of PostgreSQL` : NOBODY_ANSWERS);
}

/** Node recommends a flag of its own. */
const ADVICE_OF_NODE = /; if the root CA is installed locally.*$/;

/** Node tries all addresses of a name, and reports only the error of each attempt (net, autoSelectFamily). */
function reasonOf({ message, cause }: StoreUnavailableError): string {
  if (cause instanceof AggregateError) {
    return cause.errors.map((error) => (error instanceof Error ? error.message : String(error))).join("; ");
  }
  return message === "" ? (errorCode(cause) ?? "no answer") : message.replace(ADVICE_OF_NODE, "");
}

export function alreadyInUse(directory: string): Problem {
  return {
    code: "data-directory-in-use",
    what: "another robot-policy-service runs on this data directory",
    where: directory,
    fix: "stop the other one, or give this one a directory of its own with --data",
  };
}
