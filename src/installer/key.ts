import { parseKey } from "../client/credential.ts";
import type { Content } from "./disk/content.ts";
import { type Disk, isDiskError } from "./disk/disk.ts";
import { type InstallerProblem, refusal } from "./installer.ts";

/** Larger than any key with a BOM and blank lines around it. */
const KEY_LIMIT_BYTES = 4096;
const READABLE_BY_OTHERS = 0o044;

export interface GivenKey {
  readonly kind: "key";
  readonly content: Content;
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
  host: Disk,
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
  const warning = from === "-" ? null : await warnOf(from, host);
  return { kind: "key", content: { kind: "secret", secret: found.secret }, warning };
}

async function readKeyFile(path: string, host: Disk): Promise<string | InstallerProblem> {
  try {
    const bytes = await host.readPart(path, 0, KEY_LIMIT_BYTES + 1);
    return bytes.byteLength > KEY_LIMIT_BYTES
      ? "too-large"
      : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (!isDiskError(error, "ENOENT", "ENOTDIR", "EACCES", "EINVAL", "ELOOP", "EIO")) throw error;
    const what = `the key file cannot be read (${error.code})`;
    return refusal({
      code: "key-unreadable",
      what,
      where: path,
      fix: "name a file that holds the key, or give it on stdin: --key-file -",
    });
  }
}

async function warnOf(path: string, host: Disk): Promise<string | null> {
  const sight = await host.lookThrough(path);
  if (sight.kind !== "file" || (sight.mode & READABLE_BY_OTHERS) === 0) return null;
  return `${path} can be read by others; remove it once the robot is registered`;
}
