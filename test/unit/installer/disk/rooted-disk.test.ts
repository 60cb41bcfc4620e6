import { renameSync, symlinkSync } from "node:fs";
import {
  chmod,
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { type Disk, DiskError } from "../../../../src/installer/disk/disk.ts";
import { openRootedDisk } from "../../../../src/installer/disk/rooted-disk.ts";

const access = { mode: 0o640, userId: process.getuid?.() ?? 0, groupId: process.getgid?.() ?? 0 };

describe("openRootedDisk", () => {
  let folder: string;
  let root: string;
  let disk: Disk & AsyncDisposable;
  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "rooted-disk-")));
    root = join(folder, "root");
    await mkdir(join(root, "etc"), { recursive: true });
    await writeFile(join(folder, "secret"), "outside");
    await writeFile(join(root, "secret"), "inside");
    disk = await openRootedDisk(root);
  });
  afterEach(async () => {
    await disk[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const read = async (path: string) => Buffer.from(await disk.readPart(path, 0, 100)).toString();

  test.each([
    ["..", "/../secret"],
    [".. at the end", "/etc/../../secret"],
    ["an absolute link", "/absolute"],
    ["a relative link", "/etc/relative"],
    ["a link to a folder", "/etc/up/secret"],
    ["an absolute link to a folder", "/etc/top/secret"],
    ["a chain of links", "/etc/chain"],
  ])("%s → stops at the root", async (_what, path) => {
    await symlink("/secret", join(root, "absolute"));
    await symlink("../../secret", join(root, "etc/relative"));
    await symlink("../..", join(root, "etc/up"));
    await symlink("/", join(root, "etc/top"));
    await symlink("relative", join(root, "etc/chain"));
    expect(await read(path)).toBe("inside");
  });

  test.each(["/..", "/etc/../..", "/../../.."])("%s → the root itself", async (path) => {
    expect((await disk.list(path)).toSorted()).toEqual(["etc", "secret"]);
    await chmod(root, 0o711);
    expect(await disk.look(path)).toMatchObject({ kind: "directory", mode: 0o711 });
    await expect(disk.removeDirectory(path)).rejects.toThrow(DiskError);
  });

  test("write through links → stays inside the tree", async () => {
    await symlink(folder, join(root, "out"));
    await mkdir(join(root, folder), { recursive: true });
    await disk.create("/out/made", [Buffer.from("x")], access);
    await disk.makeDirectory("/out/folder", { ...access, mode: 0o755 });
    await disk.makeSymbolicLink("/out/link", "target");
    await disk.rename("/out/made", "/out/renamed");
    expect(await readFile(join(root, folder, "renamed"), "utf8")).toBe("x");
    expect(await readFile(join(folder, "secret"), "utf8")).toBe("outside");
    await expect(readFile(join(folder, "renamed"))).rejects.toThrow("ENOENT");
  });

  test("create, setAccess: link as the last component → not followed", async () => {
    await symlink(join(folder, "secret"), join(root, "last"));
    await expect(disk.create("/last", [Buffer.from("x")], access)).rejects.toMatchObject({ code: "EEXIST" });
    await expect(disk.setAccess("/last", access)).rejects.toMatchObject({ code: "ELOOP" });
    await disk.remove("/last");
    expect(await readFile(join(folder, "secret"), "utf8")).toBe("outside");
  });

  test("loop of links → error that names the path inside the tree", async () => {
    await symlink("b", join(root, "a"));
    await symlink("a", join(root, "b"));
    await expect(disk.list("/a")).rejects.toMatchObject({ code: "ELOOP" });
    await expect(disk.lookThrough("/a")).rejects.toMatchObject({ code: "ELOOP", path: "/a" });
    await expect(disk.list("/etc/missing")).rejects.toThrow("/etc/missing/.: ENOENT");
  });

  test("any umask → the exact mode", async () => {
    await disk.create("/etc/file", [Buffer.from("one "), Buffer.from("two")], { ...access, mode: 0o666 });
    expect(await disk.look("/etc/file")).toMatchObject({ kind: "file", mode: 0o666, sizeBytes: 7 });
    expect(await read("/etc/file")).toBe("one two");
  });

  test("change of the owner → the set-user-ID bit stays", async () => {
    await disk.create("/etc/file", [Buffer.from("x")], { ...access, mode: 0o6755 });
    expect(await disk.look("/etc/file")).toMatchObject({ mode: 0o6755 });
    await disk.setAccess("/etc/file", { ...access, mode: 0o4755 });
    expect(await disk.look("/etc/file")).toMatchObject({ mode: 0o4755 });
  });

  test("create syncs the file's content and mode, syncDirectory syncs the folder", async () => {
    const synced: unknown[] = [];
    await using handle = await open(root);
    const prototype: FileHandle = Object.getPrototypeOf(handle);
    const sync = vi.spyOn(prototype, "sync").mockImplementation(async function (this: FileHandle) {
      const { size, mode, ino } = await this.stat();
      synced.push((mode & 0o170_000) === 0o100_000 ? [size, mode & 0o7777] : ino);
    });
    try {
      await disk.create("/etc/file", [Buffer.from("one "), Buffer.from("two")], access);
      await disk.syncDirectory("/etc");
    } finally {
      sync.mockRestore();
    }
    expect(synced).toEqual([[7, 0o640], (await stat(join(root, "etc"))).ino]);
  });

  test("FIFO, device or folder → never read", async () => {
    await expect(disk.readPart("/etc", 0, 1)).rejects.toMatchObject({ code: "EINVAL" });
    expect((await disk.look("/etc")).kind).toBe("directory");
    expect(await disk.look("/none/at/all")).toEqual({ kind: "absent" });
  });

  test("removeTree: links in the tree → removed, not their targets", async () => {
    await mkdir(join(root, "tree/a/b"), { recursive: true });
    await writeFile(join(root, "tree/a/b/file"), "");
    await symlink("../../etc", join(root, "tree/a/link"));
    await writeFile(join(root, "etc/kept"), "");
    await disk.removeTree("/tree");
    expect((await disk.list("/")).toSorted()).toEqual(["etc", "secret"]);
    expect(await disk.list("/etc")).toEqual(["kept"]);
    await disk.removeTree("/tree");
  });

  test("removeTree: folder replaced by a link → nothing behind the link is removed", async () => {
    await writeFile(join(root, "etc/kept"), "");
    let swaps = 0;
    // Replaced at each possible moment of the removal.
    for (let moment = 0; moment < 30; moment += 1) {
      await mkdir(join(root, "tree/a"), { recursive: true });
      await writeFile(join(root, "tree/a/kept"), "");
      const removing = disk.removeTree("/tree").catch(() => {});
      for (let passed = 0; passed < moment; passed += 1) await turn();
      if (movedAway(join(root, "tree/a"), join(root, "tree/b"))) {
        symlinkSync("../etc", join(root, "tree/a"));
        swaps += 1;
      }
      await removing;
      await rm(join(root, "tree"), { recursive: true, force: true });
      expect(await disk.list("/etc")).toEqual(["kept"]);
    }
    expect(swaps).toBeGreaterThan(0);
  });
});

/** False if it no longer exists: libuv threads may remove it between two lines of the test. */
function movedAway(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
