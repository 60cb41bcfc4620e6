import * as fs from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import type { Flocked } from "../../platform/files/flock.ts";
import { flock } from "../../platform/files/flock.ts";
import type { Disk } from "./disk.ts";

export interface TreeLock extends AsyncDisposable {
  /** `locked` where this process has the place to itself. */
  readonly flocked: Flocked;
  /** What was locked. */
  readonly path: string;
}

const open = promisify(fs.open);
const close = promisify(fs.close);
const FOLDER = fs.constants.O_RDONLY | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;

/**
 * Takes the one place for work on a tree, by a lock that the kernel drops with the process (flock.ts).
 *
 * Locked is root's home, which nobody else can open, so that nobody else can hold up an installation; where an image has none, its root.
 *
 * @throws Node system errors.
 */
export async function lockTree({ root }: Pick<Disk, "root">): Promise<TreeLock> {
  const home = join(root, "root");
  const inHome = await open(home, FOLDER).catch(() => null);
  const descriptor = inHome ?? (await open(root, FOLDER));
  return {
    flocked: await flock(descriptor),
    path: inHome === null ? root : home,
    [Symbol.asyncDispose]: () => close(descriptor),
  };
}
