/**
 * Handles of files and folders that stay valid when their names change.
 *
 * When root changes entries in a home folder, its owner could replace a folder with a link between check and change. Handles prevent that.
 * Node has no openat(2), but a name below `/proc/self/fd/N` is looked up in exactly that folder (proc(5)).
 */
import { closeSync, constants, fstatSync, openSync, readlinkSync } from "node:fs";

import { describeStat, type FileStat } from "./files.ts";

export interface EntryHandle extends Disposable {
  readonly path: string;
  readonly descriptor: number;
  readonly stat: FileStat;
}

/** O_PATH of open(2), which refers to the entry without opening its content. Node has no constant for it. */
const O_PATH = 0o10000000;

/**
 * Opens the entry without following a link in its last component.
 *
 * @throws Node system errors.
 */
export function openEntry(path: string): EntryHandle {
  return open(path, path);
}

/** Opens an entry of the folder without following links. @throws Node system errors. */
export function openBelow(folder: EntryHandle, name: string): EntryHandle {
  const path = folder.path === "/" ? `/${name}` : `${folder.path}/${name}`;
  return open(`/proc/self/fd/${folder.descriptor}/${name}`, path);
}

/** The target of a link in the folder. @throws Node system errors. */
export function readLinkBelow(folder: EntryHandle, name: string): string {
  return readlinkSync(`/proc/self/fd/${folder.descriptor}/${name}`);
}

function open(openedAs: string, path: string): EntryHandle {
  const descriptor = openSync(openedAs, O_PATH | constants.O_NOFOLLOW);
  try {
    const stat = describeStat(fstatSync(descriptor, { bigint: true }));
    return { path, descriptor, stat, [Symbol.dispose]: () => closeSync(descriptor) };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}
