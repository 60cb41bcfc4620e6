import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";

import { expect, it } from "vitest";

import { createKeyFile } from "../../../../src/operator/keys/new-key.ts";
import { type Files, systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";
import { watchedFiles } from "../../../support/robot/watched-files.ts";

async function writeKeyFile(path: string, files: Files) {
  const created = await createKeyFile(path, files);
  if ("code" in created) return created;
  await using file = created;
  return await file.write("sk_test_x");
}

it("createKeyFile: disk full → no file remains, the next attempt is possible", async () => {
  const folder = testFolder("key-file");
  const removed: string[] = [];
  const full: Files = {
    ...systemFiles,
    async remove(path) {
      await nextTurn();
      await systemFiles.remove(path);
      removed.push(path);
    },
    async createExclusive(path, mode) {
      const file = await systemFiles.createExclusive(path, mode);
      const sync = () => Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }));
      return { write: (bytes) => file.write(bytes), close: () => file.close(), sync };
    },
  };
  const path = join(folder, "cell.key");
  expect(await writeKeyFile(path, full)).toMatchObject({ code: "key-file-unwritable" });
  // The file is removed before the error is reported, because the program ends then.
  expect(removed).toEqual([path]);
  expect(await readdir(folder)).toEqual([]);
  expect(await writeKeyFile(path, systemFiles)).toBeNull();
});

it("createKeyFile: file and name are durable before success is reported, because the key is shown only once", async () => {
  const folder = testFolder("key-file");
  const steps: string[] = [];
  expect(await writeKeyFile(join(folder, "cell.key"), watchedFiles(steps))).toBeNull();
  expect(steps).toEqual(["create cell.key", "sync 10 bytes of cell.key", "sync the folder of cell.key"]);
});
