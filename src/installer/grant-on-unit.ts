import { accountName, readGroups, readUsers } from "../platform/service-account.ts";
import { shellWord } from "../platform/shell-word.ts";
import type { ExitCode } from "../platform/terminal.ts";
import { chainGiven, giveKey, planKey } from "./grant-key.ts";
import { writeGrantRecord } from "./grant-record.ts";
import type { GrantAsked } from "./grant-run.ts";
import { stillUnreadable } from "./grant-run.ts";
import type { PlannedDropIn } from "./grant-unit.ts";
import { restartUnit, writeDropIn } from "./grant-unit.ts";
import { showGrant, showRefusal } from "./show-grant.ts";

/** `--method group`, `--method owner`: the agent becomes somebody who may read the files, by a drop-in of its unit. */
export async function grantOnUnit(asked: GrantAsked, planned: PlannedDropIn): Promise<ExitCode> {
  const { machine, options, record, directory, terminal, paths, unit } = asked;
  if (planned.kind === "refused") return showRefusal(asked, planned.problem);
  if (planned.kind === "nothing")
    return showGrant(asked, { account: asked.account, paths, changes: [], applied: false, unreadable: [] });
  const { drop_in } = planned;
  const people = { groups: await readGroups(machine.files), users: await readUsers(machine.files) };
  const key = planKey(asked.key_file, asked.account, drop_in.account, people);
  const changes = [
    {
      path: drop_in.path,
      what: "a drop-in of the unit",
      command: `systemctl edit robot-policy-agent  # ${drop_in.setting}`,
    },
  ];
  const name = accountName(drop_in.account);
  if (key !== null) {
    const command = `chown ${drop_in.account.user_id} ${shellWord(key.path)}`;
    changes.push({ path: key.path, what: `given to ${name}`, command });
  }
  if (options.json !== true) {
    for (const { path, what } of changes) terminal.print(`${path}: ${what}`);
    terminal.print(drop_in.text.trimEnd());
  }
  const notes: string[] = [];
  const tell = (note: string) => {
    notes.push(note);
    if (options.json !== true) terminal.note(note);
  };
  for (const note of drop_in.notes) tell(note);
  if (key === null && asked.key_file !== null && drop_in.account.user_id !== asked.account.user_id) {
    tell(`${asked.key_file} stays whose it is; see that ${name} can read the key`);
  }
  const result = { account: drop_in.account, paths, changes };
  if (options.dryRun === true) return showGrant(asked, { ...result, applied: false, unreadable: [], notes });

  await writeGrantRecord(machine.files, directory, {
    ...record,
    drop_in: { path: drop_in.path, text: drop_in.text },
    given: key === null ? record.given : chainGiven(record.given, key.given),
  });
  if (key !== null) giveKey(key.given, people);
  await writeDropIn(machine.files, drop_in);
  const by_hand = await restartUnit(machine, unit);
  if (by_hand !== null) tell(`systemd did not take it over; do: ${by_hand}`);
  const unreadable = await stillUnreadable(machine, drop_in.account, paths);
  return showGrant(asked, { ...result, applied: true, unreadable, notes });
}
