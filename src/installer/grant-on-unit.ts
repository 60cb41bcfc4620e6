import { accountName, readGroups, readUsers } from "../platform/service-account.ts";
import type { ExitCode } from "../platform/terminal.ts";
import { chainGiven, giveKey, planKey } from "./grant-key.ts";
import { writeGrantRecord } from "./grant-record.ts";
import type { GrantAsked } from "./grant-run.ts";
import { stillUnreadable } from "./grant-run.ts";
import type { DropIn, PlannedDropIn } from "./grant-unit.ts";
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
      command: `systemctl edit robot-policy-agent  # ${settingOf(drop_in)}`,
    },
    ...(key === null
      ? []
      : [
          {
            path: key.path,
            what: `given to ${accountName(drop_in.account)}`,
            command: `chown ${drop_in.account.user_id} ${key.path}`,
          },
        ]),
  ];
  if (options.json !== true) {
    for (const { path, what } of changes) terminal.print(`${path}: ${what}`);
    terminal.print(drop_in.text.trimEnd());
    for (const note of drop_in.notes) terminal.note(note);
  }
  if (options.dryRun === true)
    return showGrant(asked, {
      account: drop_in.account,
      paths,
      changes,
      applied: false,
      unreadable: [],
      notes: drop_in.notes,
    });
  await writeGrantRecord(machine.files, directory, {
    ...record,
    drop_in: { path: drop_in.path, text: drop_in.text },
    given: key === null ? record.given : chainGiven(record.given, key.given),
  });
  if (key !== null) giveKey(key.given, people);
  await writeDropIn(machine.files, drop_in);
  const by_hand = await restartUnit(machine, unit);
  const notes = by_hand === null ? drop_in.notes : [...drop_in.notes, `systemd did not take it over; do: ${by_hand}`];
  const unreadable = await stillUnreadable(machine, drop_in.account, paths);
  return showGrant(asked, { account: drop_in.account, paths, changes, applied: true, unreadable, notes });
}

function settingOf({ text }: DropIn): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}
