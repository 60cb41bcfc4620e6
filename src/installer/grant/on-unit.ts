import { accountName, readGroups, readUsers } from "../../access/account.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { chainGiven, giveKey, planKey } from "./key.ts";
import { writeGrantRecord } from "./record.ts";
import type { GrantAsked } from "./run.ts";
import { stillUnreadable } from "./run.ts";
import { showGrant, showRefusal } from "./show-grant.ts";
import type { PlannedDropIn } from "./unit.ts";
import { restartUnit, writeDropIn } from "./unit.ts";

/** `--method group`, `--method owner`: a drop-in runs the agent with a group or as a user that may read the files. */
export async function grantOnUnit(asked: GrantAsked, planned: PlannedDropIn): Promise<ExitCode> {
  const { machine, options, record, directory, terminal, paths, unit } = asked;
  if (planned.kind === "refused") return showRefusal(asked, planned.problem);
  if (planned.kind === "nothing")
    return showGrant(asked, { account: asked.account, paths, changes: [], applied: false, unreadable: [] });
  const { planned: dropIn } = planned;
  const people = { groups: await readGroups(machine.files), users: await readUsers(machine.files) };
  const key = planKey(asked.keyFile, asked.account, dropIn.account, people);
  const changes = [
    {
      path: dropIn.path,
      what: "a drop-in of the unit",
      command: `systemctl edit robot-policy-agent  # ${dropIn.setting}`,
    },
  ];
  const name = accountName(dropIn.account);
  if (key !== null) {
    const command = `chown ${dropIn.account.userId} ${shellWord(key.path)}`;
    changes.push({ path: key.path, what: `given to ${name}`, command });
  }
  if (options.json !== true) {
    for (const { path, what } of changes) terminal.print(`${path}: ${what}`);
    terminal.print(dropIn.text.trimEnd());
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
