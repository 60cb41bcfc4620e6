import { mkdir, realpath, rename, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { isLocal, isPlanCurrent, planWatches } from "../../../../src/agent/watching/watch-plan.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";

let folder = "";
beforeEach(async () => {
  folder = await realpath(testFolder("watch-plan"));
});

/** Watched names by directory, relative to the test's folder. */
async function planned(...paths: string[]): Promise<Record<string, string[]>> {
  const plan = await planWatches(
    systemFiles,
    paths.map((path) => join(folder, path)),
  );
  const below = [...plan.directories].filter(([directory]) => directory.startsWith(folder));
  return Object.fromEntries(
    below.map(([directory, { names }]) => [directory.slice(folder.length) || ".", [...names].toSorted()]),
  );
}

describe("planWatches", () => {
  test("file → its folder and the folders above", async () => {
    await mkdir(join(folder, "a/b"), { recursive: true });
    await writeFile(join(folder, "a/b/file.json"), "");
    expect(await planned("a/b/file.json")).toEqual({ ".": ["a"], "/a": ["b"], "/a/b": ["file.json"] });
  });

  test("chain of links, as in a Kubernetes volume → every link", async () => {
    await mkdir(join(folder, "volume/..2026"), { recursive: true });
    await writeFile(join(folder, "volume/..2026/arm.yaml"), "");
    await symlink("..2026", join(folder, "volume/..data"));
    await symlink("..data/arm.yaml", join(folder, "volume/arm.yaml"));
    expect(await planned("volume/arm.yaml")).toEqual({
      ".": ["volume"],
      "/volume": ["..2026", "..data", "arm.yaml"],
      "/volume/..2026": ["arm.yaml"],
    });
  });

  test("`..` after a link → parent of the link's target, as in the kernel", async () => {
    await mkdir(join(folder, "far/inner"), { recursive: true });
    await mkdir(join(folder, "near"));
    await writeFile(join(folder, "far/arm.yaml"), "");
    await symlink("../far/./inner", join(folder, "near/current"));
    await symlink("current/../arm.yaml", join(folder, "near/arm.yaml"));
    expect(await planned("near/arm.yaml")).toEqual({
      ".": ["far", "near"],
      "/near": ["arm.yaml", "current"],
      "/far": ["arm.yaml", "inner"],
    });
  });

  test("missing path → the nearest existing folder", async () => {
    expect(await planned("not/yet/there.json")).toEqual({ ".": ["not"] });
  });

  test("scenario 27: link to itself → ends", async () => {
    await symlink("loop", join(folder, "loop"));
    expect(await planned("loop")).toEqual({ ".": ["loop"] });
  });

  test("files in one folder → one watch", async () => {
    for (const name of ["a", "b"]) await writeFile(join(folder, name), "");
    expect(await planned("a", "b")).toEqual({ ".": ["a", "b"] });
  });

  test("sticky folders and the root → not watched for their subfolders", async () => {
    const plan = await planWatches(systemFiles, [join(folder, "file")]);
    expect(plan.directories.has("/")).toBe(false);
    expect(plan.directories.has(await realpath(tmpdir()))).toBe(false);
    expect(plan.directories.has(folder)).toBe(true);
  });
});

describe("isLocal", () => {
  const ROOT = "1 0 8:1 / / rw - ext4 /dev/root rw";
  const drive = (place: string) => `2 1 0:9 / ${join(folder, place)} rw - nfs4 server:/export rw`;

  async function planOver(mounted: string) {
    await mkdir(join(folder, "local/inner"), { recursive: true });
    await writeFile(join(folder, "local/arm.yaml"), "");
    await symlink("inner/../arm.yaml", join(folder, "local/link.yaml"));
    const lookedAtNow: string[] = [];
    const noted =
      <Result>(look: (path: string) => Result) =>
      (path: string) => {
        lookedAtNow.push(path);
        return look(path);
      };
    const files = {
      ...systemFiles,
      statNow: noted(systemFiles.statNow),
      linkStatNow: noted(systemFiles.linkStatNow),
      directoryIdNow: noted(systemFiles.directoryIdNow),
      mountsNow: () => `${ROOT}\n${mounted}`,
    };
    const plan = await planWatches(files, [join(folder, "local/link.yaml")]);
    return { files, plan, lookedAtNow, directory: plan.directories.get(join(folder, "local")) };
  }

  test("all components local → true", async () => {
    const { files, plan, directory } = await planOver(drive("elsewhere"));
    expect([isLocal(files, plan), directory?.reportsChanges]).toEqual([true, true]);
  });

  test.each([
    ["the folder is a drive", "local"],
    ["the file is a mount of its own", "local/arm.yaml"],
  ])("%s → not local, the folder is polled", async (_what, place) => {
    const { files, plan, directory } = await planOver(drive(place));
    expect([isLocal(files, plan), directory?.reportsChanges]).toEqual([false, false]);
  });

  test.each(["local", "local/inner", "local/arm.yaml"])("drive at %s → not accessed synchronously", async (place) => {
    const path = join(folder, place);
    const { lookedAtNow } = await planOver(drive(place));
    expect(lookedAtNow.length).toBeGreaterThan(0);
    expect(lookedAtNow.filter((each) => `${each}/`.startsWith(`${path}/`))).toEqual([]);
  });

  test.each([
    ["the file", "local/arm.yaml", false],
    ["the folder", "local", true],
  ])("%s is a local mount of its own → local, the folder reports changes: %s", async (_what, place, reports) => {
    const mount = `2 1 8:1 /elsewhere ${join(folder, place)} rw - ext4 /dev/root rw`;
    const { files, plan, directory } = await planOver(mount);
    expect([isLocal(files, plan), directory?.reportsChanges]).toEqual([true, reports]);
  });

  test("`..` leads out of a drive → false, the surrounding folder is watched", async () => {
    const { files, plan, directory } = await planOver(drive("local/inner"));
    expect([isLocal(files, plan), directory?.reportsChanges]).toEqual([false, true]);
  });

  test("mounts changed since → unknown", async () => {
    const { files, plan } = await planOver("");
    expect(isLocal(files, plan)).toBe(true);
    expect(isLocal({ ...files, mountsNow: () => `${ROOT}\n${drive("local")}` }, plan)).toBe(false);
  });
});

test("isPlanCurrent: planned folder replaced by another → false", async () => {
  await mkdir(join(folder, "a"));
  await writeFile(join(folder, "a/file"), "");
  const plan = await planWatches(systemFiles, [join(folder, "a/file")]);
  expect(isPlanCurrent(systemFiles, plan)).toBe(true);
  await rename(join(folder, "a"), join(folder, "old"));
  expect(isPlanCurrent(systemFiles, plan)).toBe(false);
  await mkdir(join(folder, "a"));
  expect(isPlanCurrent(systemFiles, plan)).toBe(false);
});
