import { resolve } from "node:path";

import type { Group } from "../../access/account.ts";
import type { EntryHandle } from "../../platform/files/entry-handle.ts";
import { openBelow, openEntry, readLinkBelow } from "../../platform/files/entry-handle.ts";
import { errorCode } from "../../platform/files/files.ts";
import { components, LINK_LIMIT } from "../disk/trail.ts";

/** The way to a file, each entry held open: what is looked at is what is changed. */
export type GrantWalk =
  | { readonly kind: "way"; readonly folders: readonly Passed[]; readonly file: Passed }
  | { readonly kind: "missing" }
  | { readonly kind: "refused"; readonly what: string; readonly fix: string };

export interface Passed {
  readonly handle: EntryHandle;
  /** The person who could have sent us here instead of elsewhere; null where only root could. */
  readonly sentBy: number | null;
}

/** The users and groups that a folder's mode can let in. */
export interface People {
  readonly groups: readonly Group[];
  readonly users: readonly { readonly name: string; readonly user_id: number; readonly group_id: number }[];
}

const COMPONENT_LIMIT = 256;
const STICKY = 0o1000;

/**
 * Goes to the file as root may: along the way only root and one more person, the owner, can put one thing in another's place. What that
 * person could redirect is then at most their own, which `grant` makes sure of by touching nothing else behind it.
 *
 * @param stack closes the handles.
 */
export function walkTrusted(path: string, people: People, stack: DisposableStack): GrantWalk {
  const way = walkToEntry(path, people, stack);
  if (way.kind !== "way" || way.file.handle.stat.kind === "file") return way;
  return refuse(`${path} is no regular file`, "list the files that matter, one by one");
}

/** As walkTrusted, to a folder too. */
export function walkToEntry(path: string, people: People, stack: DisposableStack): GrantWalk {
  const folders: Passed[] = [];
  let ruler: number | null = null;
  let pending = components(resolve(path));
  let folder = enter(openEntry("/"));
  let links = 0;

  function enter(handle: EntryHandle): EntryHandle {
    stack.use(handle);
    if (!folders.some((known) => known.handle.path === handle.path)) folders.push({ handle, sentBy: ruler });
    return handle;
  }

  /** Who owns an entry can change where it leads. @returns why the way ends here, or null. */
  function obey({ path: owned, stat }: EntryHandle): GrantWalk | null {
    if (stat.user_id === 0 || stat.user_id === ruler) return null;
    if (ruler === null) {
      ruler = stat.user_id;
      return null;
    }
    const what = `${path}: the way leads through entries of user ${ruler} to ${owned} of user ${stat.user_id}`;
    return refuse(what, "name the file by a path that one person is in charge of");
  }

  try {
    for (let steps = 0; steps < COMPONENT_LIMIT; steps += 1) {
      const [name, ...rest] = pending;
      if (name === undefined) return refuse(`${path} is the root`, "name a file");
      const stopped = obey(folder) ?? refuseSharedFolder(path, folder, ruler, people);
      if (stopped !== null) return stopped;
      const entry = openBelow(folder, name);
      if (entry.stat.kind === "link") {
        stack.use(entry);
        const disobeyed = obey(entry);
        if (disobeyed !== null) return disobeyed;
        links += 1;
        if (links > LINK_LIMIT)
          return refuse(`${path}: its links lead in a circle`, "replace the link by one to a file");
        pending = [...components(resolve(folder.path, readLinkBelow(folder, name))), ...rest];
        folder = enter(openEntry("/"));
        continue;
      }
      if (rest.length === 0) {
        stack.use(entry);
        return { kind: "way", folders, file: { handle: entry, sentBy: ruler } };
      }
      if (entry.stat.kind !== "directory") {
        stack.use(entry);
        return refuse(`${entry.path} is no folder`, "correct the path in the manifest");
      }
      folder = enter(entry);
      pending = rest;
    }
    return refuse(`${path}: the path is too long`, "name the file by a shorter path");
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code === "ENOENT") return { kind: "missing" };
    return refuse(`${path} cannot be looked at (${code})`, "see why root may not: a network drive?");
  }
}

/** A folder in which more people than its owner can put things in each other's place. */
function refuseSharedFolder(
  path: string,
  { path: folder, stat }: EntryHandle,
  ruler: number | null,
  people: People,
): GrantWalk | null {
  if ((stat.mode & STICKY) !== 0) return null;
  const fix = "let only its owner write there (chmod go-w), or grant it to the group: --method group";
  if ((stat.mode & 0o002) !== 0) return refuse(`${path}: anybody can put something else in place in ${folder}`, fix);
  if ((stat.mode & 0o020) === 0 || isPrivate(stat.group_id, ruler, people)) return null;
  return refuse(`${path}: group ${stat.group_id} can put something else in place in ${folder}`, fix);
}

/** A group that has nobody in it but root and the owner, as most distributions make one for each user. */
function isPrivate(groupId: number, ruler: number | null, { groups, users }: People): boolean {
  const members = groups.filter((group) => group.groupId === groupId).flatMap((group) => group.members);
  const insiders = users.filter((user) => user.group_id === groupId || members.includes(user.name));
  const known = new Set(users.map(({ name }) => name));
  // A member of a directory service is nobody that this can judge.
  if (members.some((member) => !known.has(member))) return false;
  return insiders.every(({ user_id: userId }) => userId === 0 || userId === ruler);
}

function refuse(what: string, fix: string): GrantWalk {
  return { kind: "refused", what, fix };
}
