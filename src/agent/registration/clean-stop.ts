import { join } from "node:path";

import { removeIfPresent } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";

/**
 * A file that is in the state directory only after an agent ended in order with everything saved. After a power cut it is missing: the
 * service may then have a registration that a full or read-only disk could not take. Its removal needs no free block.
 */
export function createCleanStop(files: Files, stateDirectory: string) {
  const path = join(stateDirectory, "stopped");
  return {
    /** An agent runs from now on. @returns whether the last one ended in order. */
    async take(): Promise<boolean> {
      try {
        await files.remove(path);
        await files.syncDirectory(stateDirectory);
        return true;
      } catch (error) {
        if (errorCode(error) === undefined) throw error;
        return false;
      }
    },
    /** The disk lacks something. */
    deny: () => removeIfPresent(files, path).catch(ignoreDisk),
    /** Not synced: without the file the next start only asks sooner. */
    async leave(): Promise<void> {
      await files.createExclusive(path, 0o600).then((file) => file.close(), ignoreDisk);
    },
  };
}

function ignoreDisk(error: unknown): void {
  if (errorCode(error) === undefined) throw error;
}
