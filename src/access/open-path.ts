/**
 * Opens every entry on the way to a file, so that what was checked is what is changed.
 *
 * When root changes entries in a home folder, its owner could replace a folder by a link between check and change. An open entry stays the
 * same one. Node has no openat(2), but a name below `/proc/self/fd/N` is looked up in exactly that folder (proc(5)).
 */
import { constants } from "node:fs";
import { open, readlink } from "node:fs/promises";
import { join, resolve } from "node:path";

import { components, describeStat, errorCode, type FileStat, LINK_LIMIT } from "../platform/files/files.ts";

export interface OpenEntry {
  readonly path: string;
  readonly descriptor: number;
  readonly stat: FileStat;
}

/** The entries of a path as the kernel resolves it. */
export interface OpenedPath {
  /** Folders and links from the root on, and last the target. An entry that the path enters again stands here again. */
  readonly passed: readonly OpenEntry[];
  /** null where the path could not be followed to its end. */
  readonly target: OpenEntry | null;
  /** Why it ended before, such as ENOENT. */
  readonly code: string | null;
}

/** Bounds the entries of one path, links included. */
const COMPONENT_LIMIT = 1024;
/** O_PATH of open(2), which refers to the entry without opening its content. Node has no constant for it. */
const O_PATH = 0o10000000;

/** @param opened owns the entries. @throws only bugs. */
export async function openPath(path: string, opened: OpenEntries): Promise<OpenedPath> {
  const passed: OpenEntry[] = [];
  let pending = components(resolve(path));
  let links = 0;
  try {
    let folder = await opened.open(null, "/");
    passed.push(folder);
    for (let steps = 0; steps < COMPONENT_LIMIT; steps += 1) {
      const [name, ...rest] = pending;
      if (name === undefined) return { passed, target: folder, code: null };
      const entry = await opened.open(folder, name);
      passed.push(entry);
      if (entry.stat.kind === "link") {
        links += 1;
        if (links > LINK_LIMIT) break;
        const target = await readlink(`/proc/self/fd/${folder.descriptor}/${name}`);
        // `folder.path` contains no links, so `..` in the target can be resolved by name.
        pending = [...components(resolve(folder.path, target)), ...rest];
        folder = await opened.open(null, "/");
        continue;
      }
      if (rest.length === 0) return { passed, target: entry, code: null };
      if (entry.stat.kind !== "directory") return { passed, target: null, code: "ENOTDIR" };
      folder = entry;
      pending = rest;
    }
    return { passed, target: null, code: "ELOOP" };
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return { passed, target: null, code };
  }
}

/** Entries that stay open until the end of their scope. A path is opened once, so that all questions about it are about the same entry. */
export class OpenEntries implements AsyncDisposable {
  readonly #byPath = new Map<string, OpenEntry>();
  readonly #stack = new AsyncDisposableStack();

  /** As `openEntry`. */
  async open(folder: OpenEntry | null, name: string): Promise<OpenEntry> {
    const path = join(folder?.path ?? "/", name);
    const known = this.#byPath.get(path);
    if (known !== undefined) return known;
    const entry = this.#stack.use(await openEntry(folder, name));
    this.#byPath.set(path, entry);
    return entry;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Opens an entry of a folder without following a link. @param folder null for the root. @throws Node system errors. */
export async function openEntry(folder: OpenEntry | null, name: string): Promise<OpenEntry & AsyncDisposable> {
  const opened = folder === null ? "/" : `/proc/self/fd/${folder.descriptor}/${name}`;
  const handle = await open(opened, O_PATH | constants.O_NOFOLLOW);
  try {
    const stat = describeStat(await handle.stat({ bigint: true }));
    const path = join(folder?.path ?? "/", name);
    return { path, descriptor: handle.fd, stat, [Symbol.asyncDispose]: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
