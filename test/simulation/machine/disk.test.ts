/** @module-tag needs/night */
import { describe, expect, it } from "vitest";

import { createDice } from "../dice.ts";
import { createDisk, type Disk } from "./disk.ts";
import { bytesOf, put } from "./robot-files.ts";

const SEEDS = Array.from({ length: 200 }, (_, index) => index + 1);

function emptyDisk(): Disk {
  let nowMs = 1000;
  return createDisk({ nowMs: () => nowMs, wall_ms: () => (nowMs += 7), clockSteps: () => 0, granularityMs: 4 });
}

function textOf(disk: Disk, path: string): string | null {
  return disk.exists(path) ? new TextDecoder().decode(disk.read(path)) : null;
}

/** All results of a power cut, over many seeds. */
function outcomes(prepare: (disk: Disk) => void): readonly (string | null)[] {
  const found = SEEDS.map((seed) => {
    const disk = emptyDisk();
    put(disk, "/state/file", "old");
    disk.syncAll();
    prepare(disk);
    disk.powerCut(createDice(seed));
    return textOf(disk, "/state/file");
  });
  return [...new Set(found)].sort((one, other) => (one ?? "").localeCompare(other ?? ""));
}

/** The agent's atomic write, up to a step. */
function replaceUpTo(step: "write" | "sync" | "rename" | "sync-directory") {
  return (disk: Disk) => {
    const inode = disk.create("/state/file.new", "file");
    disk.write(inode, bytesOf("new!"));
    if (step === "write") return;
    disk.sync(inode);
    if (step === "sync") return;
    disk.rename("/state/file.new", "/state/file");
    if (step === "rename") return;
    disk.syncDirectory(disk.look("/state"));
  };
}

describe("powerCut", () => {
  it.each([
    ["write", ["old"]],
    ["sync", ["old"]],
    ["rename", ["new!", "old"]],
    ["sync-directory", ["new!"]],
  ] as const)("powerCut: after %s of a durable replacement leaves %j", (step, expected) => {
    expect(outcomes(replaceUpTo(step))).toEqual(expected);
  });

  it("powerCut: rename of unsynced bytes → any part of them", () => {
    const found = outcomes((disk) => {
      disk.create("/state/file.new", "file", { bytes: bytesOf("new!") });
      disk.rename("/state/file.new", "/state/file");
    });
    expect(found).toEqual(expect.arrayContaining(["", "n", "new!", "old"]));
  });

  it("powerCut: file written in place → new, old, truncated or zeros", () => {
    const found = outcomes((disk) => disk.write(disk.look("/state/file"), bytesOf("new!")));
    expect(found).toEqual(expect.arrayContaining(["", "\0\0", "ne", "new!", "old"]));
  });

  it("powerCut: unsynced removal → may be undone", () => {
    expect(outcomes((disk) => disk.remove("/state/file"))).toEqual([null, "old"]);
  });
});

describe("createDisk", () => {
  it("createDisk: links of links → followed, loops fail with ELOOP", () => {
    const disk = emptyDisk();
    put(disk, "/srv/..1/file", "bytes");
    disk.create("/srv/..data", "link", { target: "..1" });
    disk.create("/srv/file", "link", { target: "..data/file" });
    disk.create("/srv/circle", "link", { target: "circle" });
    expect(textOf(disk, "/srv/file")).toBe("bytes");
    expect(() => disk.look("/srv/circle")).toThrow(/ELOOP/);
    expect(() => disk.look("/srv/file/below")).toThrow(/ENOTDIR/);
    expect(() => disk.look("/srv/none")).toThrow(/ENOENT/);
  });

  it("createDisk: two writes within one tick → the same stat", () => {
    let nowMs = 1001;
    const disk = createDisk({ nowMs: () => nowMs, wall_ms: () => nowMs, clockSteps: () => 0, granularityMs: 10 });
    put(disk, "/file", "one");
    const { mtimeNs, ctimeNs } = disk.look("/file");
    nowMs += 5;
    put(disk, "/file", "two");
    expect(disk.look("/file")).toMatchObject({ mtimeNs: mtimeNs, ctimeNs: ctimeNs });
    nowMs += 5;
    put(disk, "/file", "six");
    expect(disk.look("/file").mtimeNs).toBe(mtimeNs + 10_000_000n);
  });
});
