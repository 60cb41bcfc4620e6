import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import type * as fs from "node:fs/promises";
import { dirname, join } from "node:path";

import { readBounded } from "../platform/files/durable-file.ts";
import { errorCode, type FileOwner, systemFiles } from "../platform/files/files.ts";
import { leadsOut } from "../platform/files/leads-out.ts";
import { InstallerError } from "./errors.ts";

/** What a tree uses of node:fs/promises; a test replaces it by one that fails at a chosen change. */
export type TreeFs = Pick<
  typeof fs,
  "chmod" | "chown" | "lstat" | "open" | "readdir" | "readlink" | "rename" | "rm" | "rmdir" | "stat" | "symlink"
> & { mkdir(path: string): Promise<unknown> };

/** Where the content of a file comes from: a text, or a file of this machine. */
export type Source =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "copy"; readonly from: string };

/** A file that an installation consists of. */
export interface WantedFile {
  /** In the tree. */
  readonly path: string;
  readonly source: Source;
  readonly mode: number;
  readonly owner: FileOwner;
}

export const ROOT_OWNER: FileOwner = { userId: 0, groupId: 0 };
const FOLDER_MODE = 0o755;

/** Files, links and folders are created under this name and then renamed. The next run replaces what a power cut left. */
const TEMPORARY_SUFFIX = ".robot-policy-agent-new";

export function temporaryOf(path: string): string {
  return path + TEMPORARY_SUFFIX;
}

/** Folders that every system has. They stay when they are empty. */
const COMMON_FOLDERS = new Set([
  "/",
  "/etc",
  "/etc/systemd",
  "/etc/systemd/system",
  "/run",
  "/usr/local",
  "/usr/local/bin",
  "/usr/local/lib",
  "/usr/local/share",
  "/var/cache",
  "/var/lib",
]);

/** The files below a root: `/`, or the folder of an image. All methods throw Node system errors. */
export class Tree {
  readonly root: string;
  readonly #fs: TreeFs;

  /** @param root with all links resolved. */
  constructor(root: string, treeFs: TreeFs) {
    this.root = root;
    this.#fs = treeFs;
  }

  /** Where a program of this machine finds the path. */
  place(path: string): string {
    return join(this.root, path);
  }

  /** Refuses an image with links that lead out of it, such as absolute ones. @throws `InstallerError`. */
  async refuseLinksOut(paths: readonly string[]): Promise<void> {
    for (const path of new Set(paths)) {
      if (!(await leadsOut(this.root, this.place(path)))) continue;
      throw new InstallerError({
        code: "leads-out",
        what: `${path} of the image leads out of it by a link, to what belongs to this machine`,
        where: this.place(path),
        fix: "replace that link by a relative one, or by a folder; or install from within the image: chroot",
      });
    }
  }

  /** Does not follow a link in the last component. */
  async kind(path: string): Promise<"absent" | "file" | "folder" | "link" | "other"> {
    const stats = await absentAsNull(this.#fs.lstat(this.place(path)));
    if (stats === null) return "absent";
    if (stats.isSymbolicLink()) return "link";
    if (stats.isDirectory()) return "folder";
    return stats.isFile() ? "file" : "other";
  }

  /** Follows links. */
  async isFile(path: string): Promise<boolean> {
    return (await absentAsNull(this.#fs.stat(this.place(path))))?.isFile() === true;
  }

  /** Follows links. */
  async isFolder(path: string): Promise<boolean> {
    return (await absentAsNull(this.#fs.stat(this.place(path))))?.isDirectory() === true;
  }

  /** The target of a link; null for anything else. */
  async readLink(path: string): Promise<string | null> {
    return (await this.kind(path)) === "link" ? this.#fs.readlink(this.place(path)) : null;
  }

  /** Null where there is no regular file, or one of more than `limitBytes`. */
  async readText(path: string, limitBytes: number): Promise<string | null> {
    if (!(await this.isFile(path))) return null;
    const bytes = await readBounded(systemFiles, this.place(path), limitBytes);
    return bytes === "too-large" ? null : Buffer.from(bytes).toString("utf8");
  }

  /** Names in a folder, ordered; none where there is no folder. */
  async list(path: string): Promise<readonly string[]> {
    return ((await absentAsNull(this.#fs.readdir(this.place(path)))) ?? []).toSorted();
  }

  /** Whether the file is missing, or has another content, mode or owner. */
  async isStale({ path, source, mode, owner }: WantedFile): Promise<boolean> {
    if ((await this.kind(path)) !== "file") return true;
    const stats = await this.#fs.lstat(this.place(path));
    if ((stats.mode & 0o7777) !== mode || stats.uid !== owner.userId || stats.gid !== owner.groupId) return true;
    return (await digestOf({ kind: "copy", from: this.place(path) })) !== (await digestOf(source));
  }

  /** After a power cut the file has either the old content or the new. Makes missing folders. */
  async writeFile({ path, source, mode, owner }: WantedFile): Promise<void> {
    await this.makeFolder(dirname(path));
    await this.#replace(path, async (temporary) => {
      await using file = await this.#fs.open(temporary, "wx", 0o600);
      await file.writeFile(source.kind === "text" ? source.text : createReadStream(source.from));
      // chown(2) first, because it clears the set-user-ID bit.
      await file.chown(owner.userId, owner.groupId);
      await file.chmod(mode);
      await file.sync();
    });
  }

  /** The link always leads to either the old target or the new. Makes missing folders. */
  async writeLink(path: string, target: string): Promise<void> {
    await this.makeFolder(dirname(path));
    await this.#replace(path, (temporary) => this.#fs.symlink(target, temporary));
  }

  /** Makes missing folders above it, too. An existing folder keeps its mode and owner. */
  async makeFolder(path: string, mode = FOLDER_MODE, owner = ROOT_OWNER): Promise<void> {
    if (path === "/" || (await this.isFolder(path))) return;
    await this.makeFolder(dirname(path));
    await this.#replace(path, async (temporary) => {
      await this.#fs.mkdir(temporary);
      await this.#fs.chown(temporary, owner.userId, owner.groupId);
      await this.#fs.chmod(temporary, mode);
    });
  }

  /** Removes a file or a link, what a power cut left beside it, and the folders above it that are empty then. */
  async remove(path: string): Promise<void> {
    for (const each of [temporaryOf(path), path]) await this.#fs.rm(this.place(each), { force: true });
    await this.syncFolder(dirname(path));
    await this.removeEmptyFolders(dirname(path));
  }

  /** Removes the folder if it is empty, and those above it, but none that every system has. */
  async removeEmptyFolders(path: string): Promise<void> {
    for (let folder = path; !COMMON_FOLDERS.has(folder); folder = dirname(folder)) {
      if ((await this.kind(temporaryOf(folder))) === "folder") await this.#fs.rmdir(this.place(temporaryOf(folder)));
      try {
        await this.#fs.rmdir(this.place(folder));
      } catch (error) {
        if (errorCode(error) === "ENOENT") continue;
        if (["ENOTEMPTY", "EEXIST", "ENOTDIR", "EBUSY"].includes(errorCode(error) ?? "")) return;
        throw error;
      }
    }
  }

  /** Makes creations, renames and removals in a folder durable. */
  async syncFolder(path: string): Promise<void> {
    if (!(await this.isFolder(path))) return;
    await using folder = await this.#fs.open(this.place(path), constants.O_RDONLY | constants.O_DIRECTORY);
    await folder.sync();
  }

  async #replace(path: string, create: (temporary: string) => Promise<void>): Promise<void> {
    const temporary = this.place(temporaryOf(path));
    await this.#fs.rm(temporary, { recursive: true, force: true });
    await create(temporary);
    await this.#fs.rename(temporary, this.place(path));
    await this.syncFolder(dirname(path));
  }
}

/** Hex SHA-256. */
export async function digestOf(source: Source): Promise<string> {
  const hash = createHash("sha256");
  if (source.kind === "text") return hash.update(source.text).digest("hex");
  for await (const piece of createReadStream(source.from)) hash.update(piece);
  return hash.digest("hex");
}

async function absentAsNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) return null;
    throw error;
  }
}
