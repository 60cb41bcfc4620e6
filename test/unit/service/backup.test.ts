import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

import { expect, it, onTestFinished } from "vitest";

import type { Files, WritableFile } from "../../../src/platform/files.ts";
import { backUp } from "../../../src/service/store/backup.ts";
import { openStore } from "../../../src/service/store/store.ts";
import { testMachine } from "../../support/machine.ts";

const OPTIONS = { onProgress() {}, signal: new AbortController().signal };

/** The real files, and what was done to them that a power cut could undo. */
function watchedFiles(steps: string[]): Files {
  const { files } = testMachine;
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
    async syncDirectory(directory) {
      await files.syncDirectory(directory);
      steps.push(`sync the folder of ${(await readdir(directory)).toSorted().map(nameOf).join(" and ")}`);
    },
  };
}

/** Without what is random in it. */
const nameOf = (path: string) => basename(path).replace(/[0-9a-f]{12}\.new$/, "new");

it("a backup is on the disk, all of it, before it has its name; and its name is, before anybody is told", async () => {
  const folder = await mkdtemp(join(tmpdir(), "backup-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const location = { kind: "sqlite", data_directory: await mkdtemp(join(tmpdir(), "backup-of-")) } as const;
  onTestFinished(() => rm(location.data_directory, { recursive: true, force: true }));
  await (await openStore(location, testMachine))[Symbol.asyncDispose]();
  const steps: string[] = [];
  const path = join(folder, "b.db");
  const outcome = await backUp(location, path, { ...testMachine, files: watchedFiles(steps) }, OPTIONS);
  expect(outcome.state).toBe("copied");
  expect(steps).toEqual([
    "create b.db",
    "create b.db.new",
    `sync ${(await stat(path)).size} bytes of b.db.new`,
    "rename b.db.new to b.db",
    "sync the folder of b.db",
  ]);
});
