import { stat } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { replaceDurably } from "../../../../src/platform/files/durable-file.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";

let folder = "";
beforeEach(() => void (folder = testFolder("files")));

describe("replaceDurably", () => {
  test.skipIf(process.getuid?.() !== 0)(
    "root replaces a file of a service user → the user still owns it",
    { tags: "needs/root" },
    async () => {
      const path = join(folder, "state");
      await replaceDurably(systemFiles, path, Buffer.from("x"), 0o640, { userId: 65_534, groupId: 65_534 });
      expect(await stat(path)).toMatchObject({ uid: 65_534, gid: 65_534 });
    },
  );

  test("chown not permitted → the file is replaced anyway", async () => {
    const path = join(folder, "state");
    const { uid, gid } = await stat(folder);
    await replaceDurably(systemFiles, path, Buffer.from("x"), 0o640, { userId: uid, groupId: gid });
    expect((await stat(path)).mode & 0o777).toBe(0o640);
  });
});

describe("makeDirectory", () => {
  test("missing parents → created; existing directory → success", async () => {
    const path = join(folder, "a/b/c");
    await systemFiles.makeDirectory(path, 0o700);
    await systemFiles.makeDirectory(path, 0o700);
    expect((await stat(join(folder, "a"))).mode & 0o777).toBe(0o700);
  });

  test.each([
    ["/proc/nowhere/b", "ENOENT"],
    ["/dev/null", "EEXIST"],
    ["/dev/null/b", "ENOTDIR"],
  ])("%s → %s", async (path, code) => {
    await expect(systemFiles.makeDirectory(path, 0o700)).rejects.toMatchObject({ code });
  });
});

test.runIf(process.platform === "linux")("syncDirectory: calls fsync and reports its error", async () => {
  // /proc has no disk.
  await expect(systemFiles.syncDirectory("/proc")).rejects.toMatchObject({ code: "EINVAL" });
  await systemFiles.syncDirectory(folder);
});
