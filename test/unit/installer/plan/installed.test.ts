import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Disk } from "../../../../src/installer/disk/disk.ts";
import { openRootedDisk } from "../../../../src/installer/disk/rooted-disk.ts";
import {
  CURRENT_LINK,
  MADE_FOLDERS_FILE,
  SHIPPED_FOLDER,
  SWITCHING_FILE,
  versionFolder,
} from "../../../../src/installer/layout.ts";
import { readInstalled, shippedDigests } from "../../../../src/installer/plan/installed.ts";

/** Output of `printf one | sha256sum`, and so on. */
const SHA256 = {
  one: "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
  two: "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3",
};

let folder: string;
let disk: Disk & AsyncDisposable;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "installed-")));
  disk = await openRootedDisk(folder);
});
afterEach(async () => {
  await disk[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

const ship = (version: string, path: string, text: string) =>
  write(`${versionFolder(version)}/${SHIPPED_FOLDER}${path}`, text);

async function linkCurrent(target: string): Promise<string | null> {
  await rm(join(folder, CURRENT_LINK), { force: true });
  await mkdir(dirname(join(folder, CURRENT_LINK)), { recursive: true });
  await symlink(target, join(folder, CURRENT_LINK));
  return (await readInstalled(disk)).current;
}

describe("readInstalled", () => {
  test("nothing installed → empty", async () => {
    expect(await readInstalled(disk)).toEqual({ current: null, versions: [], switching: null, madeFolders: [] });
  });

  test("installed versions → each with its shipped files, and the current one", async () => {
    await ship("1.0.0-abc", "/etc/systemd/system/a.service", "one");
    await ship("2.0.0-def", "/etc/a/config.yaml", "two");
    expect(await linkCurrent("versions/2.0.0-def")).toBe("2.0.0-def");
    expect((await readInstalled(disk)).versions).toEqual([
      { id: "1.0.0-abc", shipped: new Map([["/etc/systemd/system/a.service", SHA256.one]]) },
      { id: "2.0.0-def", shipped: new Map([["/etc/a/config.yaml", SHA256.two]]) },
    ]);
  });

  test.each(["../../etc", "versions/../../etc", "/", "versions/", ""])(
    "link to %j → no version, so nothing is removed",
    async (target) => {
      expect(target === "" ? (await readInstalled(disk)).current : await linkCurrent(target)).toBeNull();
    },
  );

  test("folders that are no versions → ignored", async () => {
    for (const name of [".hidden", "1.0.0", "x".repeat(102)]) await ship(name, "/etc/a", "one");
    expect((await readInstalled(disk)).versions.map(({ id }) => id)).toEqual(["1.0.0"]);
  });

  test("many files in a version → read up to the limit", async () => {
    for (let file = 0; file <= 200; file++) await ship("1.0.0", `/etc/${file}`, "one");
    await ship("2.0.0", `${"/deep".repeat(12)}/kept`, "one");
    await ship("2.0.0", `${"/deep".repeat(13)}/left`, "one");
    const [wide, deep] = (await readInstalled(disk)).versions;
    expect(wide?.shipped.size).toBe(200);
    expect([...(deep?.shipped.keys() ?? [])]).toEqual([`${"/deep".repeat(12)}/kept`]);
  });

  test.each([
    ["1.0.0\n", { previous: "1.0.0" }],
    ["", { previous: null }],
    ["../../etc\n", { previous: null }],
  ])("interrupted switch: %j", async (note, switching) => {
    await write(SWITCHING_FILE, note);
    expect((await readInstalled(disk)).switching).toEqual(switching);
  });

  test("created folders → absolute paths only", async () => {
    await write(MADE_FOLDERS_FILE, "/etc/a\n\netc/b\n/etc/../c\n/etc/..d\n");
    expect((await readInstalled(disk)).madeFolders).toEqual(["/etc/a", "/etc/..d"]);
  });
});

test("shippedDigests: path → the digests of all versions", async () => {
  await ship("1.0.0", "/etc/a", "one");
  await ship("2.0.0", "/etc/a", "two");
  await ship("2.0.0", "/etc/b", "two");
  expect(shippedDigests(await readInstalled(disk))).toEqual(
    new Map([
      ["/etc/a", new Set([SHA256.one, SHA256.two])],
      ["/etc/b", new Set([SHA256.two])],
    ]),
  );
});
