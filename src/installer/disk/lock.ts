import * as fs from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import type { Flocked } from "../../platform/files/flock.ts";
import { flock } from "../../platform/files/flock.ts";
import type { Disk } from "./disk.ts";

export interface TreeLock extends AsyncDisposable {
  readonly flocked: Flocked;
  /** The locked folder. */
  readonly path: string;
}

const open = promisify(fs.open);
const close = promisify(fs.close);
const FOLDER = fs.constants.O_RDONLY | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;

/**
 * Locks a tree, so that one command at a time changes it. The kernel releases the lock when the process ends (flock.ts).
 *
 * Locks /root, because only root can open it: another user could hold a lock on `/` and block every installation. An image without /root
 * is locked at its root.
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
