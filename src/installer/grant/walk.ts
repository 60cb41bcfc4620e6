import { resolve } from "node:path";

import type { Group } from "../../access/account.ts";
import { type EntryHandle, openBelow, openEntry, readLinkBelow } from "../../platform/files/entry-handle.ts";
import { components, errorCode, LINK_LIMIT } from "../../platform/files/files.ts";

/** The entries of the path to a file. Each is open, so that what was checked is what is changed. */
export type GrantWalk =
  | { readonly kind: "way"; readonly folders: readonly Passed[]; readonly file: Passed }
  | { readonly kind: "missing" }
  | { readonly kind: "refused"; readonly what: string; readonly fix: string };

export interface Passed {
  readonly handle: EntryHandle;
  /** The user besides root who controls the path to here; null where only root does. */
  readonly controlledBy: number | null;
}

/** All users and groups, to see who may write to a folder by its mode. */
export interface People {
  readonly groups: readonly Group[];
  readonly users: readonly { readonly name: string; readonly userId: number; readonly groupId: number }[];
}

const COMPONENT_LIMIT = 256;
const STICKY = 0o1000;

/**
 * Opens the path to a file, and refuses a path that anybody besides root and one more user can redirect. That user can then redirect it to
 * their own entries only, because `grant` changes no other entries behind it.
 *
 * @param stack owns the handles.
 */
export function walkTrusted(path: string, people: People, stack: DisposableStack): GrantWalk {
  const way = walkToEntry(path, people, stack);
  if (way.kind !== "way" || way.file.handle.stat.kind === "file") return way;
  return refuse(`${path} is not a regular file`, "list the files themselves");
}

/** As walkTrusted, for folders too. */
export function walkToEntry(path: string, people: People, stack: DisposableStack): GrantWalk {
  const folders: Passed[] = [];
  let controller: number | null = null;
  let pending = components(resolve(path));
  let folder = enter(openEntry("/"));
  let links = 0;

  function enter(handle: EntryHandle): EntryHandle {
    stack.use(handle);
    if (!folders.some((known) => known.handle.path === handle.path)) folders.push({ handle, controlledBy: controller });
    return handle;
  }

  /** The owner of an entry can change where it leads. @returns a refusal where a second user could, else null. */
  function refuseSecondUser({ path: owned, stat }: EntryHandle): GrantWalk | null {
    if (stat.userId === 0 || stat.userId === controller) return null;
    if (controller === null) {
      controller = stat.userId;
      return null;
    }
    const what = `${path}: the path goes through entries of user ${controller} to ${owned}, which belongs to user ${stat.userId}`;
    return refuse(what, "use a path whose folders and links all belong to root or to one user");
  }

  try {
    for (let steps = 0; steps < COMPONENT_LIMIT; steps += 1) {
      const [name, ...rest] = pending;
      if (name === undefined) return refuse(`${path} is the root`, "name a file");
      const stopped = refuseSecondUser(folder) ?? refuseSharedFolder(path, folder, controller, people);
      if (stopped !== null) return stopped;
      const entry = openBelow(folder, name);
      if (entry.stat.kind === "link") {
        stack.use(entry);
        const stopped = refuseSecondUser(entry);
        if (stopped !== null) return stopped;
        links += 1;
        if (links > LINK_LIMIT)
          return refuse(`${path}: its symbolic links form a loop`, "replace the link by one to a file");
        pending = [...components(resolve(folder.path, readLinkBelow(folder, name))), ...rest];
        folder = enter(openEntry("/"));
        continue;
      }
      if (rest.length === 0) {
        stack.use(entry);
        return { kind: "way", folders, file: { handle: entry, controlledBy: controller } };
      }
      if (entry.stat.kind !== "directory") {
        stack.use(entry);
        return refuse(`${entry.path} is not a folder`, "correct the path in the manifest");
      }
      folder = enter(entry);
      pending = rest;
    }
    return refuse(`${path}: the path is too long`, "name the file by a shorter path");
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code === "ENOENT") return { kind: "missing" };
    return refuse(`${path} cannot be read (${code})`, "find out why root may not: is it on a network drive?");
  }
}

/** Refuses a folder in which others than its owner can replace entries. */
function refuseSharedFolder(
  path: string,
  { path: folder, stat }: EntryHandle,
  controller: number | null,
  people: People,
): GrantWalk | null {
  if ((stat.mode & STICKY) !== 0) return null;
  const fix = "let only its owner write there: chmod go-w";
  if ((stat.mode & 0o002) !== 0) return refuse(`${path}: any user can replace entries of ${folder}`, fix);
  if ((stat.mode & 0o020) === 0 || isPrivate(stat.groupId, controller, people)) return null;
  return refuse(`${path}: group ${stat.groupId} can replace entries of ${folder}`, fix);
}

/** A group without members besides root and the user, such as the one that most distributions create for each user. */
function isPrivate(groupId: number, controller: number | null, { groups, users }: People): boolean {
  const known = groups.filter((group) => group.groupId === groupId);
  // The members of a group from a directory service (LDAP) are unknown here; that of a user alone has the user's number.
  if (known.length === 0) return groupId === controller;
  const members = known.flatMap((group) => group.members);
  // A member from a directory service is unknown, too.
  if (members.some((member) => !users.some(({ name }) => name === member))) return false;
  const insiders = users.filter((user) => user.groupId === groupId || members.includes(user.name));
  return insiders.every(({ userId }) => userId === 0 || userId === controller);
}

function refuse(what: string, fix: string): GrantWalk {
  return { kind: "refused", what, fix };
}
