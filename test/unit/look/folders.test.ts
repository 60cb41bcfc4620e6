import { mkdir, realpath, rename, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { planWatches } from "../../../src/look/folders.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { testFolder } from "../../support/folder.ts";
import { c920, gsUsb } from "../../support/robot/hardware-kinds.ts";
import { createHardwareTree } from "../../support/robot/hardware-tree.ts";
import { temporaryFolder } from "./machine.ts";

let folder = "";
beforeEach(async () => {
  folder = await realpath(await temporaryFolder());
});

/** Writes files and links (`name → target`) below the test's folder. */
async function make(...entries: readonly string[]): Promise<void> {
  for (const entry of entries) {
    const [name = "", target] = entry.split(" → ");
    await mkdir(join(folder, name, ".."), { recursive: true });
    if (target !== undefined) await symlink(target, join(folder, name));
    else if (name.endsWith("/")) await mkdir(join(folder, name), { recursive: true });
    else await writeFile(join(folder, name), "");
  }
}

function plan(mounts = "", ...names: readonly string[]) {
  const files = mounts === "" ? systemFiles : { ...systemFiles, mountsNow: () => mounts };
  return planWatches(
    files,
    names.map((name) => join(folder, name)),
  );
}

describe("planWatches", () => {
  test.each<[what: string, entries: readonly string[], names: readonly string[], expected: Record<string, string[]>]>([
    [
      "file → its folder and the folders above",
      ["a/b/file"],
      ["a/b/file"],
      { "": ["a"], "/a": ["b"], "/a/b": ["file"] },
    ],
    ["files in one folder → one watch", ["a", "b"], ["a", "b"], { "": ["a", "b"] }],
    [
      "chain of links, as in a Kubernetes volume → every link",
      ["volume/..2026/arm", "volume/..data → ..2026", "volume/arm → ..data/arm"],
      ["volume/arm"],
      { "": ["volume"], "/volume": ["..2026", "..data", "arm"], "/volume/..2026": ["arm"] },
    ],
    [
      "`..` after a link → parent of the link's target, as in the kernel",
      ["far/inner/", "far/arm", "near/current → ../far/./inner", "near/arm → current/../arm"],
      ["near/arm"],
      { "": ["far", "near"], "/near": ["arm", "current"], "/far": ["arm", "inner"] },
    ],
    ["missing path → the nearest existing folder", [], ["not/yet/there"], { "": ["not"] }],
    ["scenario 27: link to itself → ends", ["loop → loop"], ["loop"], { "": ["loop"] }],
  ])("%s", async (_what, entries, names, expected) => {
    await make(...entries);
    const below = [...(await plan("", ...names))].filter(([each]) => each.startsWith(folder));
    const found = below.map(([each, planned]) => [each.slice(folder.length), [...planned.names].toSorted()]);
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  test("absolute link → walked from the root", async () => {
    await make("far/arm", `near → ${folder}/far/arm`);
    const planned = await plan("", "near");
    expect(planned.get(join(folder, "far"))).toMatchObject({ names: new Set(["arm"]), holdsTarget: true });
    expect(planned.get(folder)).toMatchObject({ names: new Set(["near", "far"]), holdsTarget: true });
  });

  test("sticky folders and the root → watched for their files, not for their subfolders", async () => {
    const sticky = await realpath(tmpdir());
    const above = await plan("", "file");
    expect([above.has("/"), above.has(sticky), above.get(folder)?.holdsTarget]).toEqual([false, false, true]);
    const own = await planWatches(systemFiles, [join(sticky, "none.yaml"), "/none.yaml"]);
    expect([own.has("/"), own.has(sticky)]).toEqual([true, true]);
  });

  test("folder replaced by another → another id", async () => {
    await make("a/file");
    const idNow = async () => (await plan("", "a/file")).get(join(folder, "a"))?.id;
    const before = await idNow();
    expect(await idNow()).toBe(before);
    await rename(join(folder, "a"), join(folder, "old"));
    await make("a/");
    expect(await idNow()).not.toBe(before);
  });

  test.each([
    ["all is local", "nfs4", "elsewhere", true],
    ["the folder is a network drive", "nfs4", "local", false],
    ["the folder is a FUSE drive", "fuse.sshfs", "local", false],
    ["the file is a network mount of its own", "nfs4", "local/arm", false],
    ["the file is a local mount of its own", "ext4", "local/arm", false],
    ["the folder is a local mount of its own", "ext4", "local", true],
    ["`..` leads out of a drive", "nfs4", "local/inner", true],
  ])("%s (%s at %s) → its folder reports changes: %s", async (_what, type, place, expected) => {
    await make("local/inner/", "local/arm", "local/link → inner/../arm");
    const mounts = `1 0 8:1 / / rw - ext4 /dev/root rw\n2 1 0:9 / ${join(folder, place)} rw - ${type} server:/export rw`;
    expect((await plan(mounts, "local/link")).get(join(folder, "local"))?.reportsChanges).toBe(expected);
  });
});

describe("planWatches: devices", () => {
  const camera = c920("AAAA0001", 0, { chain: "1" });
  const byId = "/dev/v4l/by-id/usb-Logitech_HD_Pro_Webcam_C920_AAAA0001-video-index0";

  test.each<
    [what: string, path: string, links: readonly string[], watched: readonly string[], looked: readonly string[]]
  >([
    ["a node in /dev", "/dev/video0", [], [], ["/dev"]],
    ["a link in /dev", "/dev/cam_front", ["/dev/cam_front → /dev/video0"], [], ["/dev"]],
    ["udev's link", byId, [], ["/dev/v4l", "/dev/v4l/by-id"], []],
    ["udev's link, whose node is gone", byId, [`${byId} → /dev/none`], ["/dev/v4l", "/dev/v4l/by-id"], []],
    ["a link in a folder that is there", "/dev/v4l/by-id/none", [], ["/dev/v4l", "/dev/v4l/by-id"], []],
    ["a link in a folder that is not there", "/dev/serial/by-id/none", [], [], ["/dev"]],
    ["a link in /dev to udev's", "/dev/cam", [`/dev/cam → ${byId}`], ["/dev/v4l", "/dev/v4l/by-id"], ["/dev"]],
    ["a link elsewhere", "/opt/cam", ["/opt/cam → /dev/video0"], ["/opt"], ["/dev"]],
    ["an interface", "/sys/class/net/can0", [], [], ["/sys/class/net"]],
  ])("%s (%s)", async (_what, path, links, watched, looked) => {
    const tree = createHardwareTree(testFolder("devices"));
    tree.boot([camera, gsUsb("1", ["can0"], { chain: "2" })]);
    for (const [link = "", target = ""] of links.map((each) => each.split(" → "))) tree.link(link, target);
    const planned = [...(await planWatches({ ...tree.files, mountsNow: () => "" }, [path]))];
    const foldersOf = (isOfDevices: boolean) =>
      planned.filter(([, each]) => each.isOfDevices === isOfDevices).map(([folder]) => folder);
    expect([foldersOf(false).toSorted(), foldersOf(true)]).toEqual([watched, looked]);
  });

  test("a pattern → its folder, for any name", async () => {
    await make("meshes/a.stl");
    expect((await plan("", "meshes/*.stl")).get(join(folder, "meshes"))).toMatchObject({
      names: new Set(["*"]),
      holdsTarget: true,
    });
  });
});
