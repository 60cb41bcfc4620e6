import { parseKey } from "../client/credential.ts";
import type { Secret } from "../client/secret.ts";
import { readBounded } from "../platform/files/durable-file.ts";
import { systemFiles } from "../platform/files/files.ts";
import { InstallerError } from "./errors.ts";

/** Larger than any key with a BOM and blank lines around it. */
const KEY_LIMIT_BYTES = 4096;

/** Reads all of stdin. */
export type ReadInput = (limitBytes: number) => Promise<string | "too-large">;

/**
 * Reads the key for the installation. Its file may have any owner and mode: USB sticks and network shares have none.
 *
 * @param from a path, or `-` for stdin. @throws `InstallerError`, Node system errors.
 */
export async function readGivenKey(from: string, readInput: ReadInput): Promise<Secret> {
  const where = from === "-" ? "stdin" : from;
  const read = from === "-" ? await readInput(KEY_LIMIT_BYTES) : await readBounded(systemFiles, from, KEY_LIMIT_BYTES);
  const fix = "give the key alone, on one line";
  if (read === "too-large") throw new InstallerError({ code: "key-too-large", what: "it is no key", where, fix });
  // The agent's own parser, so that the agent accepts what is accepted here.
  const found = parseKey(typeof read === "string" ? read : Buffer.from(read).toString("utf8"), "environment", where);
  if (found.kind === "credential") return found.secret;
  throw new InstallerError({ code: found.code, what: found.what, where, fix });
}
