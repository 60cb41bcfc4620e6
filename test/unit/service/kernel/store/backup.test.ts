import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it, onTestFinished } from "vitest";

import { backUp } from "../../../../../src/service/kernel/store/backups/backup.ts";
import { openStore } from "../../../../../src/service/kernel/store/open-store.ts";
import { testFolder } from "../../../../support/folder.ts";
import { testMachine } from "../../../../support/robot/machine.ts";
import { watchedFiles } from "../../../../support/robot/watched-files.ts";

it("backup: content is synced before the rename, and the rename before success is reported", async () => {
  const folder = testFolder("backup");
  const location = { kind: "sqlite", dataDirectory: await mkdtemp(join(tmpdir(), "backup-of-")) } as const;
  onTestFinished(() => rm(location.dataDirectory, { recursive: true, force: true }));
  await (await openStore(location, testMachine))[Symbol.asyncDispose]();
  const steps: string[] = [];
  const path = join(folder, "b.db");
  const outcome = await backUp(location, path, { ...testMachine, files: watchedFiles(steps, testMachine.files) });
  expect(outcome.state).toBe("copied");
  expect(steps).toEqual([
    "create b.db",
    "create b.db.new",
    `sync ${(await stat(path)).size} bytes of b.db.new`,
    "rename b.db.new to b.db",
    "sync the folder of b.db",
  ]);
});
