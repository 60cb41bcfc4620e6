import { chownSync } from "node:fs";

import type { Account } from "../../access/account.ts";
import type { EntryHandle } from "../../platform/files/entry-handle.ts";
import type { GrantRecord } from "./record.ts";
import type { People } from "./walk.ts";
import { walkTrusted } from "./walk.ts";

/** The API key's file, and whose it is to become. */
export interface KeyToGive {
  readonly path: string;
  readonly given: NonNullable<GrantRecord["given"]>;
}

/**
 * The key is its reader's or root's (0600), so that it goes along when the agent becomes another user.
 *
 * @param account the user that the agent is. @param next the one that it becomes.
 * @returns null where the file stays whose it is: also where somebody but root could have put it there.
 */
export function planKey(keyFile: string | null, account: Account, next: Account, people: People): KeyToGive | null {
  if (keyFile === null || next.user_id === account.user_id) return null;
  using stack = new DisposableStack();
  const key = openKey(keyFile, people, stack);
  if (key === null) return null;
  const { stat, path } = key;
  // Somebody else's key is no key of the agent's.
  if (stat.user_id !== 0 && stat.user_id !== account.user_id) return null;
  return { path, given: { path, from_user_id: stat.user_id, from_group_id: stat.group_id, to_user_id: next.user_id } };
}

/** Given on from one user to the next, it goes back to the first one. */
export function chainGiven(known: GrantRecord["given"], given: KeyToGive["given"]): KeyToGive["given"] {
  if (known === null || known.path !== given.path || known.to_user_id !== given.from_user_id) return given;
  const { from_user_id: fromUserId, from_group_id: fromGroupId } = known;
  return { ...given, from_user_id: fromUserId, from_group_id: fromGroupId };
}

/** @throws Node system errors. */
export function giveKey(
  { path, from_group_id: fromGroupId, to_user_id: toUserId }: KeyToGive["given"],
  people: People,
): void {
  using stack = new DisposableStack();
  const key = openKey(path, people, stack);
  if (key !== null) chownSync(`/proc/self/fd/${key.descriptor}`, toUserId, fromGroupId);
}

/** What lies in a person's folder that person could have put in the key's place, such as a link to a file of root's: it is not given away. */
function openKey(path: string, people: People, stack: DisposableStack): EntryHandle | null {
  const way = walkTrusted(path, people, stack);
  return way.kind === "way" && way.file.sentBy === null ? way.file.handle : null;
}
