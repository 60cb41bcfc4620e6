import { stat } from "node:fs/promises";

import { parseKey } from "../client/credential.ts";
import type { Secret } from "../client/secret.ts";
import { errorCode } from "../platform/files/files.ts";
import { type InstallerProblem, refusal } from "./errors.ts";
import type { Tree } from "./tree.ts";

/** Larger than any key with a BOM and blank lines around it. */
const KEY_LIMIT_BYTES = 4096;
const READABLE_BY_OTHERS = 0o044;

export interface GivenKey {
  readonly kind: "key";
  readonly secret: Secret;
  /** About the file that it came from. */
  readonly warning: string | null;
}

/** Reads all of stdin. @returns `too-large` beyond the limit; no key has that text. */
export type ReadInput = (limitBytes: number) => Promise<string>;

/**
 * Reads the key for the installation. Its file may have any owner and mode: USB sticks and network shares have none.
 *
 * @param from a path, or `-` for stdin.
 */
export async function readGivenKey(
  from: string,
  readInput: ReadInput,
  host: Tree,
): Promise<GivenKey | InstallerProblem> {
  const where = from === "-" ? "stdin" : from;
  const read = from === "-" ? await readInput(KEY_LIMIT_BYTES) : await readKeyFile(from, host);
  if (typeof read === "object") return read;
  if (read === "too-large") {
    return refusal({ code: "key-too-large", what: "it holds more than a key", where, fix: "give the key alone" });
  }
  // The agent's own parser, so that the agent accepts what is accepted here.
  const found = parseKey(read, "environment", where);
  if (found.kind === "credential-problem") {
    return refusal({ code: found.code, what: found.what, where, fix: "give the key alone, on one line" });
  }
  const warning = from === "-" ? null : await warnOf(from);
  return { kind: "key", secret: found.secret, warning };
}

async function readKeyFile(path: string, host: Tree): Promise<string | InstallerProblem> {
  let bytes: Buffer | null;
  let code = "no file";
  try {
    bytes = await host.readStart(path, KEY_LIMIT_BYTES + 1);
  } catch (error) {
    code = errorCode(error) ?? "";
    if (code === "") throw error;
    bytes = null;
  }
  if (bytes !== null) return bytes.byteLength > KEY_LIMIT_BYTES ? "too-large" : bytes.toString("utf8");
  return refusal({
    code: "key-unreadable",
    what: `the key file cannot be read (${code})`,
    where: path,
    fix: "name a file that holds the key, or give it on stdin: --key-file -",
  });
}

async function warnOf(path: string): Promise<string | null> {
  const { mode } = await stat(path);
  if ((mode & READABLE_BY_OTHERS) === 0) return null;
  return `${path} can be read by others; remove it once the robot is registered`;
}
