import { type BigIntStats, constants, lstatSync, readlinkSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import * as fs from "node:fs/promises";
import { dirname } from "node:path";

import { components, errorCode, LINK_LIMIT } from "../../platform/files/files.ts";
import { type Access, type Disk, DiskError, type Sight } from "./disk.ts";
import { Trail } from "./trail.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_WRONLY, O_CREAT, O_EXCL } = constants;

const PIECE_BYTES = 1024 * 1024;
/** Room for a file that grows while it is read. */
const GROWTH_BYTES = 16 * 1024;

/**
 * Opens the tree under `root`.
 *
 * Paths never leave the tree: folders are opened one by one and never through a link (trail.ts).
 *
 * @throws Node system errors: `root` cannot be opened, or is no folder.
 */
export async function openRootedDisk(root: string): Promise<Disk & AsyncDisposable> {
  const top = await fs.open(root, O_RDONLY | O_DIRECTORY);

  /** Opens the parent of `path` without following links, and calls `use` with a `/proc/self/fd` name of the last component. */
  async function at<T>(path: string, use: (name: string) => Promise<T>): Promise<T> {
    try {
      using trail = new Trail(top.fd);
      const names = components(path);
      // A final `..` is resolved here too: the kernel would leave the tree with it at the root.
      const last = names.at(-1) === ".." ? "." : (names.pop() ?? ".");
      trail.follow(names);
      return await use(trail.nameOf(last));
    } catch (error) {
      throw diskError(error, path);
    }
  }

  async function look(path: string): Promise<Sight> {
    try {
      return await at(path, lookAt);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return { kind: "absent" };
      throw error;
    }
  }

  async function lookThrough(path: string): Promise<Sight> {
    return look(await destination(path));
  }

  /** Resolves links in the last component. */
  async function destination(path: string): Promise<string> {
    let where = path;
    for (let links = 0; links <= LINK_LIMIT; links += 1) {
      const sight = await look(where);
      if (sight.kind !== "link") return where;
      where = sight.target.startsWith("/") ? sight.target : `${dirname(where)}/${sight.target}`;
    }
    throw new DiskError("ELOOP", path);
  }

  async function openFile(path: string): Promise<FileHandle> {
    const file = await at(path, (name) => fs.open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if ((await file.stat()).isFile()) return file;
    await file.close();
    throw new DiskError("EINVAL", path);
  }

  return {
    root,
    look,
    lookThrough,
    async readPart(path, position, lengthBytes) {
      await using file = await openFile(await destination(path));
      // `lengthBytes` is a limit and most files are much smaller. allocUnsafe: only the bytes that were read are returned.
      const buffer = Buffer.allocUnsafe(
        Math.min(lengthBytes, Math.max(0, (await file.stat()).size - position) + GROWTH_BYTES),
      );
      let length = 0;
      while (length < buffer.byteLength) {
        const { bytesRead } = await file.read(buffer, length, buffer.byteLength - length, position + length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return buffer.subarray(0, length);
    },
    async *pieces(path) {
      await using file = await openFile(path);
      // Most files are small: a whole piece for each made garbage collection a third of an installation.
      const buffer = Buffer.allocUnsafe(Math.min((await file.stat()).size + GROWTH_BYTES, PIECE_BYTES));
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, buffer.byteLength, null);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    },
    list: (path) => at(`${path}/.`, (name) => fs.readdir(name)),
    makeDirectory: (path, access) =>
      at(path, async (name) => {
        // Create root's folders with their final mode: if this run is killed here, the next run keeps the mode that it finds.
        const isRoots = access.userId === 0 && access.groupId === 0;
        await fs.mkdir(name, { mode: isRoots ? access.mode : 0o700 });
        await using directory = await fs.open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        await grant(directory, access);
      }),
    create: (path, content, access) =>
      at(path, async (name) => {
        await using file = await fs.open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
        for await (const piece of content) await file.writeFile(piece);
        await grant(file, access);
        await file.sync();
      }),
    setAccess: (path, access) =>
      at(path, async (name) => {
        await using file = await fs.open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        await grant(file, access);
      }),
    makeSymbolicLink: (path, target) => at(path, (name) => fs.symlink(target, name)),
    rename: (from, to) => at(from, (oldName) => at(to, (newName) => fs.rename(oldName, newName))),
    remove: (path) => at(path, (name) => fs.unlink(name)),
    removeDirectory: (path) => at(path, (name) => fs.rmdir(name)),
    removeTree: (path) => at(path, removeWithAll),
    syncDirectory: (path) =>
      at(`${path}/.`, async (name) => {
        await using directory = await fs.open(name, O_RDONLY | O_DIRECTORY);
        await directory.sync();
      }),
    [Symbol.asyncDispose]: () => top.close(),
  };
}

/** Synchronous, because handing the call to a thread takes longer than the call (trail.ts). */
async function lookAt(name: string): Promise<Sight> {
  const stats = lstatSync(name, { bigint: true });
  if (stats.isSymbolicLink()) return { kind: "link", target: readlinkSync(name) };
  if (stats.isDirectory()) return { kind: "directory", ...accessOf(stats) };
  if (stats.isFile()) return { kind: "file", sizeBytes: Number(stats.size), ...accessOf(stats) };
  return { kind: "other" };
}

/** Bounds the recursion. The installer creates no folders this deep: such a tree may be an attack, and is left. */
const DEPTH_LIMIT = 64;

/** Works on open folders: the tree's owner could replace a folder by a link between the check and the removal. */
async function removeWithAll(name: string, depth = DEPTH_LIMIT): Promise<void> {
  try {
    await fs.unlink(name);
    return;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return;
    if (errorCode(error) !== "EISDIR") throw error;
  }
  if (depth > 0) {
    await using folder = await fs.open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const below = `/proc/self/fd/${folder.fd}/`;
    for (const each of await fs.readdir(below)) await removeWithAll(below + each, depth - 1);
  }
  try {
    await fs.rmdir(name);
  } catch (error) {
    // A mount point cannot be removed.
    if (errorCode(error) !== "EBUSY") throw error;
  }
}

function accessOf({ mode, uid, gid }: BigIntStats): Access {
  return { mode: Number(mode & 0o7777n), userId: Number(uid), groupId: Number(gid) };
}

/** chown(2) first, because it clears the set-user-ID bit. */
async function grant(file: FileHandle, { mode, userId, groupId }: Access): Promise<void> {
  await file.chown(userId, groupId);
  await file.chmod(mode);
}

function diskError(error: unknown, path: string): unknown {
  const code = errorCode(error);
  return error instanceof DiskError || code === undefined ? error : new DiskError(code, path, error);
}
