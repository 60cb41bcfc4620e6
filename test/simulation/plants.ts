import type { Files, FileStat } from "../../src/platform/files/files.ts";

/** A planted mistake, to test that the simulation finds it. */
export type Plant = (typeof PLANTS)[number];

export const PLANTS = ["skip-second-stat", "forget-fsync"] as const;

export function plantIn(files: Files, plant: Plant | null): Files {
  switch (plant) {
    case null:
      return files;
    case "skip-second-stat":
      return skipSecondStat(files);
    case "forget-fsync":
      return forgetSync(files);
  }
}

/** After reading, every stat shows the file as before: simulates a program that does not check again. */
function skipSecondStat(files: Files): Files {
  const beforeReading = new Map<string, FileStat>();
  return {
    ...files,
    async stat(path) {
      const remembered = beforeReading.get(path);
      beforeReading.delete(path);
      return remembered ?? files.stat(path);
    },
    async openForReading(path) {
      const file = await files.openForReading(path);
      let first: FileStat | null = null;
      return {
        ...file,
        async stat() {
          first ??= await file.stat();
          beforeReading.set(path, first);
          return first;
        },
      };
    },
  };
}

/** Syncs do nothing. */
function forgetSync(files: Files): Files {
  return {
    ...files,
    async createExclusive(path, mode) {
      return { ...(await files.createExclusive(path, mode)), async sync() {} };
    },
    async syncDirectory() {},
  };
}
