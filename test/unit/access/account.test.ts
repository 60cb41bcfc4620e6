import { expect, test } from "vitest";

import { type Account, findServiceAccount, lookUpAccount } from "../../../src/access/account.ts";
import { type FoundUnit, parseUnit } from "../../../src/access/unit.ts";
import { type Files, systemFiles } from "../../../src/platform/files/files.ts";
import type { RunProgram } from "../../../src/platform/programs.ts";

const STANDARD = "/var/lib/robot-policy-agent";
const OWN = "/home/tech/state";
const PERSON = { name: "tech", userId: 1000, groupId: 1000, groupIds: [1000, 27] };
const AGENT = { name: "robot-policy-agent", userId: 990, groupId: 989, groupIds: [989] };
const ROOT = { name: "root", userId: 0, groupId: 0, groupIds: [0] };
const NAMELESS = { name: "", userId: 1234, groupId: 99, groupIds: [99] };
const NO_SYSTEMD: FoundUnit = { kind: "no-systemd" };

const unitOf = (properties: string): FoundUnit => ({
  kind: "unit",
  unit: parseUnit(`LoadState=loaded\n${properties}`),
  timer: null,
});

const PERSON_SHOWN = "uid=1000(tech) gid=1000(tech) groups=1000(tech),27(sudo)\n";
const AGENT_SHOWN = "uid=990(robot-policy-agent) gid=989(robot-policy-agent)\n";

/** As id(1) and getent(1) answer. */
function machineWith(accounts: Readonly<Record<string, string>>, groups = ""): RunProgram {
  return async ([program, , name = ""]) => {
    if (program === "getent") return { kind: "ended", exitCode: 2, stdout: groups, stderr: "" };
    const stdout = accounts[name];
    return { kind: "ended", exitCode: stdout === undefined ? 1 : 0, stdout: stdout ?? "", stderr: "" };
  };
}

interface Scene {
  readonly account: Account | null;
  /** Unless the account's. */
  readonly name?: string;
  readonly unit?: FoundUnit;
  readonly stateDirectory?: string;
  readonly userId?: number;
  /** Lines of getent(1). */
  readonly groups?: string;
  /** The user of an installation exists. */
  readonly isInstalled?: boolean;
  /** A user without a name owns the state directory. */
  readonly isOwned?: boolean;
}

test.each<[string, Scene]>([
  ["nothing installed → absent", { account: null, name: AGENT.name }],
  ["nothing installed, called by root → absent", { account: null, name: AGENT.name, userId: 0 }],
  ["nothing installed, own folders → the calling user", { account: PERSON, stateDirectory: OWN }],
  ["user of an installation exists → that user", { account: AGENT, isInstalled: true }],
  [
    "user of an installation exists, own folders → the caller",
    { account: PERSON, isInstalled: true, stateDirectory: OWN },
  ],
  ["state directory of a user without a name → its ids", { account: NAMELESS, name: "user 1234", isOwned: true }],
  ["User= known → its account", { account: PERSON, name: "1000", unit: unitOf("User=1000\n") }],
  ["no User= → root", { account: ROOT, unit: unitOf("") }],
  ["User= unknown → absent", { account: null, name: "robot", unit: unitOf("User=robot\n") }],
  ["own folders → the unit does not count", { account: PERSON, unit: unitOf("User=robot\n"), stateDirectory: OWN }],
  [
    "SupplementaryGroups= → added by name and by id, each once; unknown ones are left out",
    {
      unit: unitOf("User=1000\nSupplementaryGroups=video 105 sudo nobody-has-it\n"),
      groups: "tech:x:1000:\nvideo:x:44:\nrender:x:105:\nsudo:x:27:tech\n",
      account: { ...PERSON, groupIds: [1000, 27, 44, 105] },
      name: "1000",
    },
  ],
  [
    "Group= → the user's own group does not count",
    {
      unit: unitOf("User=1000\nGroup=robot-policy-agent\n"),
      groups: "tech:x:1000:\nrobot-policy-agent:x:989:\n",
      account: { ...PERSON, groupId: 989, groupIds: [989, 27] },
      name: "1000",
    },
  ],
  [
    "Group=, and the user's own group lists the user → counts",
    {
      unit: unitOf("User=1000\nGroup=robot-policy-agent\n"),
      groups: "tech:x:1000:tech\nrobot-policy-agent:x:989:\n",
      account: { ...PERSON, groupId: 989, groupIds: [989, 1000, 27] },
      name: "1000",
    },
  ],
])("findServiceAccount: %s", async (_what, scene) => {
  const { account, name = account?.name, unit = NO_SYSTEMD, stateDirectory = STANDARD, userId = 1000 } = scene;
  const { groups, isInstalled = false, isOwned = false } = scene;
  const files: Files = {
    ...systemFiles,
    async stat() {
      if (isOwned) return { ...(await systemFiles.stat("/")), userId: 1234, groupId: 99 };
      throw Object.assign(new Error("nothing there"), { code: "ENOENT" });
    },
  };
  const accounts = { "1000": PERSON_SHOWN, ...(isInstalled ? { [AGENT.name]: AGENT_SHOWN } : {}) };
  const question = { files, runProgram: machineWith(accounts, groups), unit, stateDirectory, userId };
  expect(await findServiceAccount(question)).toEqual({ account, name });
});

test.each([
  ["0", "not asked", ROOT],
  ["root", "not asked", ROOT],
  ["robot", "uid=998(robot) gid=997(robot) groups=997(robot),44(video)\n", { name: "robot", groupIds: [997, 44] }],
  ["998", "uid=998 gid=997\n", { name: "", userId: 998, groupId: 997, groupIds: [997] }],
  ["robot", "uid=998(robot)\n", null],
])("lookUpAccount: %s, for which id(1) says %j", async (name, shown, account) => {
  const found = await lookUpAccount(machineWith({ [name]: shown }), name);
  if (account === null) expect(found).toBeNull();
  else expect(found).toMatchObject(account);
});
