/**
 * Handles of files and folders that stay what they are, whatever becomes of their names.
 *
 * Root that changes something in a home folder must not be sent elsewhere by whoever owns it, with a link put in the place of a folder
 * between a look and a change. Node has no openat(2), but a name below `/proc/self/fd/N` is looked up in exactly that folder (proc(5)).
 */
import { closeSync, constants, fstatSync, openSync, readlinkSync } from "node:fs";

import type { FileStat } from "./files.ts";
import { describeStat } from "./files.ts";

export interface EntryHandle extends Disposable {
  readonly path: string;
  readonly descriptor: number;
  readonly stat: FileStat;
}

/** The entry itself and not what it holds (open(2), O_PATH); Node has no name for this flag of Linux. */
const O_PATH = 0o10000000;

/**
 * Opens the entry and follows no link in its last component.
 *
 * @throws Node system errors.
 */
export function openEntry(path: string): EntryHandle {
  return open(path, path);
}

/** Opens an entry of the folder, and follows no link. @throws Node system errors. */
export function openBelow(folder: EntryHandle, name: string): EntryHandle {
  const path = folder.path === "/" ? `/${name}` : `${folder.path}/${name}`;
  return open(`/proc/self/fd/${folder.descriptor}/${name}`, path);
}

/** Where a link in the folder leads. @throws Node system errors. */
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
