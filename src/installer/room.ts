import { dirname } from "node:path";

import type { Disk, Room } from "./disk.ts";
import type { InstallerProblem } from "./installer.ts";
import { refusal } from "./installer.ts";
import type { Step } from "./step.ts";

/** For folders, the journal, and a machine that goes on working. */
const SPARE_BYTES = 16 * 1024 * 1024;
const SPARE_FILES = 64;

/** Refuses before anything is written what would fail in the middle: a full disk, a read-only one. */
export async function findLackOfRoom(disk: Disk, steps: readonly Step[]): Promise<InstallerProblem | null> {
  const needs = new Map<
    string,
    { readonly room: Room; readonly path: string; readonly bytes: number; readonly files: number }
  >();
  const changes = steps.filter((step) => "path" in step);
  for (const [folder, inside] of Map.groupBy(changes, ({ path }) => dirname(path))) {
    const room = await disk.room(folder);
    if (room.is_read_only) {
      return refusal({
        code: "read-only",
        what: "the filesystem is read-only, and nothing was changed",
        where: inside[0]?.path ?? folder,
        fix: "mount -o remount,rw the filesystem, or build the agent into the image: install --root DIR",
      });
    }
    const before = needs.get(room.filesystem);
    needs.set(room.filesystem, {
      room,
      path: before?.path ?? folder,
      bytes: inside.reduce((bytes, step) => bytes + sizeOf(step), before?.bytes ?? SPARE_BYTES),
      files: (before?.files ?? SPARE_FILES) + inside.length,
    });
  }
  const lacking = [...needs.values()].find(
    ({ room, bytes, files }) =>
      room.available_bytes < bytes || (room.available_files !== null && room.available_files < files),
  );
  if (lacking === undefined) return null;
  const { room, bytes, path } = lacking;
  const is_bytes = room.available_bytes < bytes;
  const what = is_bytes
    ? `there is too little room: ${megabytes(bytes)} MB are needed and ${megabytes(room.available_bytes)} MB are free`
    : "the filesystem has no inodes left for more files";
  return refusal({
    code: "no-room",
    what: `${what}; nothing was changed`,
    where: path,
    fix: "make room and run it again",
  });
}

function sizeOf(step: Step): number {
  return step.kind === "write-file" ? step.size_bytes : 0;
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1_000_000);
}
