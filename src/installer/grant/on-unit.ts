import { chownSync } from "node:fs";

import { type Account, accountName, readGroups, readUsers } from "../../access/account.ts";
import type { EntryHandle } from "../../platform/files/entry-handle.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { type GrantRecord, writeGrantRecord } from "./record.ts";
import { type GrantAsked, showGrant, showRefusal, stillUnreadable } from "./run.ts";
import { type PlannedDropIn, restartUnit, writeDropIn } from "./unit.ts";
import { type People, walkTrusted } from "./walk.ts";

/** `--method owner`: a drop-in runs the agent as the user that owns the files. */
export async function grantOnUnit(asked: GrantAsked, planned: PlannedDropIn): Promise<ExitCode> {
  const { machine, options, record, directory, terminal, paths, unit } = asked;
  if (planned.kind === "refused") return showRefusal(asked, planned.problem);
  const { planned: dropIn } = planned;
  const people = { groups: await readGroups(machine.files), users: await readUsers(machine.files) };
  const key = planKey(asked.keyFile, asked.account, dropIn.account, people);
  const changes = [
    {
      path: dropIn.path,
      what: "a drop-in of the unit",
      command: `systemctl edit robot-policy-agent  # ${dropIn.settings.join("; ")}`,
    },
  ];
  const name = accountName(dropIn.account);
  if (key !== null) {
    const command = `chown ${dropIn.account.userId} ${shellWord(key.path)}`;
    changes.push({ path: key.path, what: `given to ${name}`, command });
  }
  if (options.json !== true) {
    for (const { path, what } of changes) terminal.print(`${path}: ${what}`);
    terminal.printText(dropIn.text.trimEnd());
  }
  const notes: string[] = [];
  const tell = (note: string) => {
    notes.push(note);
    if (options.json !== true) terminal.note(note);
  };
  for (const note of dropIn.notes) tell(note);
  if (key === null && asked.keyFile !== null && dropIn.account.userId !== asked.account.userId) {
    tell(`${asked.keyFile} keeps its owner; make sure that ${name} can read the key`);
  }
  const result = { account: dropIn.account, paths, changes };
  if (options.dryRun === true) return showGrant(asked, { ...result, applied: false, unreadable: [], notes });

  await writeGrantRecord(machine.files, directory, {
    ...record,
    drop_in: { path: dropIn.path, text: dropIn.text },
    given: key === null ? record.given : chainGiven(record.given, key.given),
  });
  if (key !== null) giveKey(key.given, people);
  await writeDropIn(machine.files, dropIn);
  const byHand = await restartUnit(machine, unit);
  if (byHand !== null) tell(`systemd did not apply it; run: ${byHand}`);
  const unreadable = await stillUnreadable(machine, dropIn.account, paths);
  return showGrant(asked, { ...result, applied: true, unreadable, notes });
}

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
