import { readdir, stat } from "node:fs/promises";
import { basename } from "node:path";

import { type Files, systemFiles, type WritableFile } from "../../../src/platform/files/files.ts";

/** Real files that record operations that a power cut could undo. */
export function watchedFiles(steps: string[], files: Files = systemFiles): Files {
  return {
    ...files,
    async createExclusive(path, mode, owner) {
      const file = await files.createExclusive(path, mode, owner);
      steps.push(`create ${nameOf(path)}`);
      const sync: WritableFile["sync"] = async () => {
        await file.sync();
        steps.push(`sync ${(await stat(path)).size} bytes of ${nameOf(path)}`);
      };
      return { write: (content) => file.write(content), sync, close: () => file.close() };
    },
    async rename(from, to) {
      await files.rename(from, to);
      steps.push(`rename ${nameOf(from)} to ${nameOf(to)}`);
    },
    async remove(path) {
      await files.remove(path);
      steps.push(`remove ${nameOf(path)}`);
    },
    async syncDirectory(directory) {
      await files.syncDirectory(directory);
      const names = (await readdir(directory)).toSorted().map(nameOf);
      steps.push(`sync the folder of ${names.length === 0 ? "nothing" : names.join(" and ")}`);
    },
  };
}

/** The path without its random part. */
const nameOf = (path: string) => basename(path).replace(/[0-9a-f]{12}\.new$/, "new");
