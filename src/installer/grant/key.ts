import { chownSync } from "node:fs";

import type { Account } from "../../access/account.ts";
import type { EntryHandle } from "../../platform/files/entry-handle.ts";
import type { GrantRecord } from "./record.ts";
import type { People } from "./walk.ts";
import { walkTrusted } from "./walk.ts";

/** The API key's file, and its new owner. */
export interface KeyToGive {
  readonly path: string;
  readonly given: NonNullable<GrantRecord["given"]>;
}

/**
 * The key file belongs to the agent's user or to root and has mode 0600, so its owner changes together with the agent's user.
 *
 * @param account the agent's user now. @param next its user after the grant.
 * @returns null where the file keeps its owner, for example because somebody besides root could have placed it there.
 */
export function planKey(keyFile: string | null, account: Account, next: Account, people: People): KeyToGive | null {
  if (keyFile === null || next.userId === account.userId) return null;
  using stack = new DisposableStack();
  const key = openKey(keyFile, people, stack);
  if (key === null) return null;
  const { stat, path } = key;
  // Another user's file is not the agent's key.
  if (stat.userId !== 0 && stat.userId !== account.userId) return null;
  return { path, given: { path, from_user_id: stat.userId, from_group_id: stat.groupId, to_user_id: next.userId } };
}

/** After several changes of the owner, a revocation returns the file to the first one. */
export function chainGiven(known: GrantRecord["given"], given: KeyToGive["given"]): KeyToGive["given"] {
  if (known === null || known.path !== given.path || known.to_user_id !== given.from_user_id) return given;
  return { ...given, from_user_id: known.from_user_id, from_group_id: known.from_group_id };
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

/** Refuses paths through a user's folders: that user could have placed a link to a file of root there, and would become its owner. */
function openKey(path: string, people: People, stack: DisposableStack): EntryHandle | null {
  const way = walkTrusted(path, people, stack);
  return way.kind === "way" && way.file.controlledBy === null ? way.file.handle : null;
}
