import { posix } from "node:path";

import { errorCode } from "../../src/platform/files/files.ts";
import type { Inode } from "./machine/disk.ts";
import { BUNDLE, FILES, FILE_VERSIONS, PLACES, TABLES, bytesOf, contentOf } from "./machine/robot-files.ts";
import type { World } from "./world.ts";

/** All ways in which people and tools change a file. Some take time, during which the file is half-written. */
export type Way = (typeof WAYS)[number];

export const WAYS = [
  "in place in three pieces",
  "over itself in two pieces",
  "by rename",
  "by rename with an older time",
  "delete and recreate",
  "same content again",
  "touch",
] as const;

export interface Editors {
  /** Changes a configuration file in a way that suits it, or starts to. */
  editFile(path: string): void;
  /** Writes `text` into the file. Pauses between pieces are at most `pauseMs`. */
  write(path: string, text: string, way: Way, pauseMs: number): void;
  /** Completes all edits in progress, so that every file is complete. */
  finish(): void;
}

const LONG_PAUSE_MS = 3000;
const SHORT_PAUSE_MS = 150;
const DOCUMENTS = `${posix.dirname(PLACES.manifest)}/`;

export function createEditors(world: World): Editors {
  const { dice, disk, scheduler } = world;
  /** Remaining steps by path. */
  const underWay = new Map<string, (() => void)[]>();
  let nextFolder = 2;

  /** Runs the first step now, the others after pauses. A new edit of the same file first completes the previous one. */
  function inSteps(path: string, steps: readonly (() => void)[], pauseMs: number): void {
    const remaining = [...steps];
    finishPath(path);
    underWay.set(path, remaining);
    const next = () => {
      if (underWay.get(path) !== remaining) return;
      shrugging(remaining.shift());
      syncDocument(path);
      if (remaining.length === 0) underWay.delete(path);
      else scheduler.after(dice.between(0.05, pauseMs), null, `editor goes on with ${path}`, next);
    };
    next();
  }

  /** A truncated manifest may be valid, so its writer syncs it; after a power cut nobody could tell the difference. */
  function syncDocument(path: string): void {
    if (!path.startsWith(DOCUMENTS) || !disk.exists(path)) return;
    disk.sync(disk.look(path));
    disk.syncDirectory(disk.look(posix.dirname(path)));
  }

  function finishPath(path: string): void {
    const remaining = underWay.get(path) ?? [];
    underWay.delete(path);
    for (const step of remaining) shrugging(step);
    syncDocument(path);
  }

  function inodeOf(path: string): Inode {
    return disk.exists(path) ? disk.look(path) : disk.create(path, "file");
  }

  function inPieces(path: string, text: string, pauseMs: number): void {
    const bytes = bytesOf(text);
    const [first, second] = [dice.below(bytes.byteLength), dice.below(bytes.byteLength)].sort(
      (one, other) => one - other,
    );
    const upTo = (end: number) => () => disk.write(inodeOf(path), bytes.slice(0, end));
    inSteps(path, [upTo(dice.chance(0.5) ? 0 : (first ?? 0)), upTo(second ?? 0), upTo(bytes.byteLength)], pauseMs);
  }

  function overItself(path: string, text: string, pauseMs: number): void {
    const next = bytesOf(text);
    const split = dice.below(next.byteLength);
    const half = () => {
      const inode = inodeOf(path);
      const mixed = next.slice();
      mixed.set(inode.bytes.subarray(split, next.byteLength), split);
      disk.write(inode, mixed);
    };
    inSteps(path, [half, () => disk.write(inodeOf(path), next)], pauseMs);
  }

  function byRename(path: string, text: string, older: boolean): void {
    // Editors replace the target of a link, or the link itself.
    const target = disk.exists(path) ? realPath(path) : path;
    const temporary = `${posix.dirname(target)}/.${posix.basename(target)}.tmp`;
    if (disk.exists(temporary)) disk.remove(temporary);
    const inode = disk.create(temporary, "file", { bytes: bytesOf(text) });
    if (older) disk.setModified(temporary, inode.mtimeNs - BigInt(1 + dice.below(1_000_000)) * 1_000_000_000n);
    if (dice.chance(0.5)) disk.sync(inode);
    disk.rename(temporary, target);
    if (dice.chance(0.5)) disk.syncDirectory(disk.look(posix.dirname(target)));
    syncDocument(path);
  }

  function realPath(path: string): string {
    const names: string[] = [];
    for (let inode: Inode | null = disk.look(path); inode !== null && inode.parent !== inode; inode = inode.parent)
      names.unshift(inode.name);
    return `/${names.join("/")}`;
  }

  /** As Kubernetes updates a ConfigMap: a new folder, a new link, and one rename that switches. */
  function swapBundle(text: string): void {
    const folder = `..${nextFolder++}`;
    disk.create(`${BUNDLE}/${folder}`, "directory");
    disk.create(`${BUNDLE}/${folder}/policy.txt`, "file", { bytes: bytesOf(text) });
    const old = disk.look(`${BUNDLE}/..data`, false).target;
    disk.create(`${BUNDLE}/..data_tmp`, "link", { target: folder });
    disk.rename(`${BUNDLE}/..data_tmp`, `${BUNDLE}/..data`);
    disk.remove(`${BUNDLE}/${old}`);
  }

  /** As rsync and over-the-air updates replace an entire folder. */
  function replaceFolder(text: string): void {
    const fresh = `${TABLES}.new`;
    disk.create(fresh, "directory");
    disk.create(`${fresh}/offsets.bin`, "file", { bytes: bytesOf(text) });
    inSteps(
      FILES.offsets,
      [
        () => disk.rename(TABLES, `${TABLES}.old`),
        () => {
          disk.rename(fresh, TABLES);
          disk.remove(`${TABLES}.old`);
        },
      ],
      SHORT_PAUSE_MS,
    );
  }

  function write(path: string, text: string, way: Way, pauseMs: number): void {
    world.disturb(`${path}: ${way}`);
    finishPath(path);
    switch (way) {
      case "in place in three pieces":
        return inPieces(path, text, pauseMs);
      case "over itself in two pieces":
        return overItself(path, text, pauseMs);
      case "by rename":
        return byRename(path, text, false);
      case "by rename with an older time":
        return byRename(path, text, true);
      case "delete and recreate": {
        const target = disk.exists(path) ? realPath(path) : path;
        return inSteps(path, [() => disk.remove(target), () => disk.write(inodeOf(target), bytesOf(text))], pauseMs);
      }
      case "same content again":
        return disk.exists(path) ? disk.write(disk.look(path), disk.read(path).slice()) : byRename(path, text, false);
      case "touch":
        return disk.exists(path) ? disk.touch(path) : byRename(path, text, false);
    }
  }

  return {
    write: (path, text, way, pauseMs) => shrugging(() => write(path, text, way, pauseMs)),
    editFile: (path) => shrugging(() => editFile(path)),
    finish() {
      for (const path of underWay.keys()) finishPath(path);
    },
  };

  function editFile(path: string): void {
    const text = contentOf(path, 1 + dice.below(FILE_VERSIONS));
    if (path === FILES.policy && dice.chance(0.5)) {
      world.disturb(`${BUNDLE} switches`);
      finishPath(path);
      swapBundle(text);
      return;
    }
    if (
      path === FILES.offsets &&
      dice.chance(0.3) &&
      !disk.exists(`${TABLES}.old`) &&
      !disk.exists(`${TABLES}.new`) &&
      disk.exists(TABLES)
    ) {
      world.disturb(`${TABLES} is replaced`);
      finishPath(path);
      replaceFolder(text);
      return;
    }
    if (!disk.exists(posix.dirname(path))) return;
    write(path, text, dice.pick(WAYS), dice.pick([2, SHORT_PAUSE_MS, LONG_PAUSE_MS]));
  }
}

/** A tool gives up when its folder or file is missing. */
export function shrugging(act: (() => void) | undefined): void {
  try {
    act?.();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}
