import { isoNow } from "../../platform/clock.ts";
import { readBounded, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";
import { API_KEY_PREFIX, createToken, hashSecret, isToken } from "../kernel/auth/token.ts";
import { findKey } from "../kernel/auth/key-queries.ts";
import type { NewId } from "../kernel/ids.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import type { Store } from "../kernel/store/store.ts";
import { MAKE_WRITABLE, systemReason } from "../kernel/system-reason.ts";
import { ensureOrganization, FIRST_ORGANIZATION_NAME } from "../organizations/index.ts";
import { insertKey, keyRow } from "./keys.ts";

/** A key file contains one key and a line feed; larger files are not read. */
const KEY_FILE_BYTES = 4096;
const KEY_FILE_MODE = 0o600;

/**
 * Makes sure that the key in `path` works, so that a new service has a first credential.
 *
 * If the file does not exist, writes a new key there. If it exists, for example from a lab's provisioning, adopts its key. A
 * revoked key stays revoked.
 *
 * @returns the problem with the file, or null.
 */
export async function bootstrapKey(
  path: string,
  store: Store,
  newId: NewId,
  machine: ServiceMachine,
): Promise<Problem | null> {
  const found = await readKeyFile(path, machine);
  if (typeof found !== "string" && found !== null) return found;
  const key = found ?? createToken(API_KEY_PREFIX, machine.random);
  // The file first: after a crash in between, the next start adopts its key. A key that is only in the store could never be read.
  if (found === null) {
    const unwritable = await writeKeyFile(path, key, machine);
    if (unwritable !== null) return unwritable;
  }
  const hash = hashSecret(key);
  const known = await findKey(store.reader, hash);
  if (known !== undefined) {
    if (known.revoked_at !== null) machine.log.warn("bootstrap_key_revoked", { path, key_id: known.id });
    return null;
  }
  const createdAt = isoNow(machine.clock);
  const [id, organizationId] = [newId("key"), newId("org")];
  const isAdded = await store.write(async (transaction) => {
    const first = { id: organizationId, name: FIRST_ORGANIZATION_NAME, created_at: createdAt };
    const organization = await ensureOrganization(transaction, first);
    // Another replica may start with the same file.
    if ((await findKey(transaction, hash)) !== undefined) return false;
    const newKey = { organization_id: organization, label: "bootstrap", scopes: null, expires_at: null };
    await insertKey(transaction, keyRow(key, newKey, id, createdAt));
    return true;
  });
  if (isAdded) machine.log.info("bootstrap_key_added", { path, key_id: id, was_in_file: found !== null });
  return null;
}

/** The key in the file, null if there is no file, or the problem with it. */
async function readKeyFile(
  path: string,
  { files, log }: Pick<ServiceMachine, "files" | "log">,
): Promise<string | null | Problem> {
  try {
    const bytes = await readBounded(files, path, KEY_FILE_BYTES);
    const text = bytes === "too-large" ? "" : Buffer.from(bytes).toString("utf8").trim();
    if (!isToken(API_KEY_PREFIX, text)) {
      return notAKeyFile(path, bytes.length === 0);
    }
    const { mode } = await files.stat(path);
    if ((mode & 0o077) !== 0) log.warn("bootstrap_key_readable_by_others", { path, fix: `chmod 600 ${path}` });
    return text;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    return unusable(path, error);
  }
}

/** Never advises to remove a file with other content, which may be valuable. */
function notAKeyFile(path: string, isEmpty: boolean): Problem {
  return {
    code: "bootstrap-key-invalid",
    what: `the bootstrap key file ${isEmpty ? "is empty" : `is no key file: it does not hold one API key, ${API_KEY_PREFIX}…, and nothing else`}`,
    where: path,
    fix: isEmpty
      ? "remove it to have a new key written there, or put back the key it held"
      : "name another file with --bootstrap-key-file, one that is not there yet to have a new key written",
  };
}

async function writeKeyFile(path: string, key: string, { files }: ServiceMachine): Promise<Problem | null> {
  try {
    await replaceDurably(files, path, Buffer.from(`${key}\n`), KEY_FILE_MODE);
    return null;
  } catch (error) {
    return unusable(path, error);
  }
}

/** @throws the error itself if it is not from the system. */
function unusable(path: string, error: unknown): Problem {
  if (errorCode(error) === undefined || !(error instanceof Error)) throw error;
  return {
    code: "bootstrap-key-file-unusable",
    what: `the bootstrap key file cannot be used: ${systemReason(error)}`,
    where: path,
    fix:
      errorCode(error) === "EROFS"
        ? MAKE_WRITABLE
        : "name a file in a directory that exists and that this user can write to",
  };
}
