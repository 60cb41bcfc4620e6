/** When the last backup of a data directory was made: noted by the command, read for the metrics of the running service. */
import { join } from "node:path";

import { readBounded, replaceDurably } from "../../../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../../../platform/files/files.ts";

const FILE = "last-backup";
/** Root may make the backup, and the service's own user read this. It holds a time alone. */
const MODE = 0o644;
const LIMIT_BYTES = 64;

export async function noteBackup(files: Files, dataDirectory: string, at: string): Promise<void> {
  await replaceDurably(files, join(dataDirectory, FILE), Buffer.from(`${at}\n`), MODE);
}

/** In seconds since the Unix epoch; 0 if there was none. @throws Node system errors. */
export async function lastBackupS(files: Files, dataDirectory: string): Promise<number> {
  try {
    const bytes = await readBounded(files, join(dataDirectory, FILE), LIMIT_BYTES);
    const atMs = bytes === "too-large" ? Number.NaN : Date.parse(Buffer.from(bytes).toString().trim());
    return Number.isNaN(atMs) ? 0 : atMs / 1000;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return 0;
    throw error;
  }
}
