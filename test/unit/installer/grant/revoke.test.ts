import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { EMPTY_RECORD, writeGrantRecord } from "../../../../src/installer/grant/record.ts";
import { revokeGrant } from "../../../../src/installer/grant/revoke.ts";
import { type Files, systemFiles } from "../../../../src/platform/files/files.ts";
import { systemPrograms } from "../../../../src/platform/programs.ts";
import { temporaryFolder } from "../../look/machine.ts";

test("revokeGrant: the removal of a drop-in is on the disk before its record is removed", async () => {
  const folder = await temporaryFolder();
  const dropIn = join(folder, "unit.d", "50-grant.conf");
  const text = "[Service]\nUser=ann\n";
  await mkdir(join(folder, "unit.d"));
  await writeFile(dropIn, text);
  const record = { ...EMPTY_RECORD, owner: { drop_in: dropIn, text, key: null } };
  await writeGrantRecord(systemFiles, folder, record);
  const changes: string[] = [];
  const files: Files = {
    ...systemFiles,
    async remove(path) {
      changes.push(`remove ${path.slice(folder.length)}`);
      await systemFiles.remove(path);
    },
    async syncDirectory(path) {
      changes.push(`sync ${path.slice(folder.length)}`);
      await systemFiles.syncDirectory(path);
    },
  };
  expect(await revokeGrant({ files, runProgram: systemPrograms }, record, folder)).toEqual({
    revoked: [dropIn],
    problems: [],
  });
  expect(changes).toEqual(["remove /unit.d/50-grant.conf", "sync /unit.d", "remove /grants.json"]);
});
