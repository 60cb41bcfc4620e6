import { describe, expect, test } from "vitest";

import { findServiceAccount, lookUpAccount, parseAccount } from "../../../src/access/account.ts";
import { type FoundUnit, parseUnit } from "../../../src/access/unit.ts";
import { type Files, systemFiles } from "../../../src/platform/files/files.ts";
import type { RunProgram } from "../../../src/platform/programs.ts";

const STANDARD = "/var/lib/robot-policy-agent";
const PERSON = { name: "tech", userId: 1000, groupId: 1000, groupIds: [1000, 27] };

/** id(1) on a machine with one user and no service account. */
const knowsPerson: RunProgram = async ([, , name]) =>
  name === "1000"
    ? { kind: "ended", exitCode: 0, stdout: "uid=1000(tech) gid=1000(tech) groups=1000(tech),27(sudo)\n", stderr: "" }
    : { kind: "ended", exitCode: 1, stdout: "", stderr: "id: no such user\n" };

/** Files of a machine without the agent. */
const bare: Files = {
  ...systemFiles,
  stat: async () => {
    throw Object.assign(new Error("nothing there"), { code: "ENOENT" });
  },
};

describe("findServiceAccount: nothing installed", () => {
  const ask = (stateDirectory: string, userId: number) =>
    findServiceAccount({
      files: bare,
      runProgram: knowsPerson,
      unit: { kind: "no-systemd" },
      stateDirectory,
      userId,
    });

  test.each([0, 1000])("standard folders, called by user %i → no account", async (userId) => {
    expect(await ask(STANDARD, userId)).toEqual({ kind: "absent", name: "robot-policy-agent" });
  });

  test("own folders → the calling user", async () => {
    expect(await ask("/home/tech/state", 1000)).toEqual({ kind: "account", account: PERSON });
  });
});

describe("findServiceAccount: unit loaded", () => {
  const unitOf = (properties: string): FoundUnit => ({
    kind: "unit",
    unit: parseUnit(`LoadState=loaded\n${properties}`),
  });
  const ask = (unit: FoundUnit, stateDirectory = STANDARD) =>
    findServiceAccount({ files: bare, runProgram: knowsPerson, unit, stateDirectory, userId: 1000 });

  test("User= known → its account", async () => {
    expect(await ask(unitOf("User=1000\n"))).toEqual({ kind: "account", account: PERSON });
  });

  test("no User= → root, without asking id(1)", async () => {
    expect(await ask(unitOf(""))).toEqual({
      kind: "account",
      account: { name: "root", userId: 0, groupId: 0, groupIds: [0] },
    });
  });

  test("User= unknown → absent", async () => {
    expect(await ask(unitOf("User=robot\n"))).toEqual({ kind: "absent", name: "robot" });
  });

  /** As id(1) and getent(1) answer. */
  const knowsGroups =
    (groups: string): RunProgram =>
    async (argv, options) =>
      argv[0] === "getent" ? { kind: "ended", exitCode: 2, stdout: groups, stderr: "" } : knowsPerson(argv, options);

  test.each([
    [
      "SupplementaryGroups= → added by name and by id, each once; unknown ones are left out",
      "SupplementaryGroups=video 105 sudo nobody-has-it",
      "tech:x:1000:\nvideo:x:44:\nrender:x:105:\nsudo:x:27:tech\n",
      { groupIds: [1000, 27, 44, 105] },
    ],
    [
      "Group= → the user's own group does not count",
      "Group=robot-policy-agent",
      "tech:x:1000:\nrobot-policy-agent:x:989:\n",
      { groupId: 989, groupIds: [989, 27] },
    ],
    [
      "Group=, and the user's own group lists the user → counts",
      "Group=robot-policy-agent",
      "tech:x:1000:tech\nrobot-policy-agent:x:989:\n",
      { groupId: 989, groupIds: [989, 1000, 27] },
    ],
  ])("%s", async (_what, setting, groups, account) => {
    const unit = unitOf(`User=1000\n${setting}\n`);
    const question = { files: bare, runProgram: knowsGroups(groups), unit, stateDirectory: STANDARD, userId: 0 };
    expect(await findServiceAccount(question)).toEqual({ kind: "account", account: { ...PERSON, ...account } });
  });

  test("other folders → the unit does not count", async () => {
    expect(await ask(unitOf("User=robot\n"), "/home/tech/state")).toEqual({ kind: "account", account: PERSON });
  });
});

describe("findServiceAccount: the user of an installation exists", () => {
  const AGENT = { name: "robot-policy-agent", userId: 990, groupId: 989, groupIds: [989] };
  const knowsBoth: RunProgram = async (argv, options) =>
    argv[2] === AGENT.name
      ? { kind: "ended", exitCode: 0, stdout: "uid=990(robot-policy-agent) gid=989(robot-policy-agent)\n", stderr: "" }
      : knowsPerson(argv, options);

  test.each([
    ["standard folders → that user", STANDARD, AGENT],
    ["other folders → the calling user", "/home/tech/state", PERSON],
  ])("%s", async (_what, stateDirectory, account) => {
    const unit: FoundUnit = { kind: "no-systemd" };
    const question = { files: bare, runProgram: knowsBoth, unit, stateDirectory, userId: 1000 };
    expect(await findServiceAccount(question)).toEqual({ kind: "account", account });
  });
});

describe("findServiceAccount: state directory exists", () => {
  const owned: Files = { ...bare, stat: async () => ({ ...(await systemFiles.stat("/")), userId: 1234, groupId: 99 }) };

  test("owner without a name → the account by its ids", async () => {
    const unit: FoundUnit = { kind: "no-systemd" };
    const question = { files: owned, runProgram: knowsPerson, unit, stateDirectory: STANDARD, userId: 0 };
    const account = { name: "", userId: 1234, groupId: 99, groupIds: [99] };
    expect(await findServiceAccount(question)).toEqual({ kind: "account", account });
  });
});

const refuses: RunProgram = () => Promise.reject(new Error("asked"));

test.each(["0", "root"])("lookUpAccount: %s → root, without asking id(1)", async (name) => {
  expect(await lookUpAccount(refuses, name)).toEqual({ name: "root", userId: 0, groupId: 0, groupIds: [0] });
});

test.each([
  ["uid=998(robot) gid=997(robot) groups=997(robot),44(video)\n", { name: "robot", groupIds: [997, 44] }],
  ["uid=998 gid=997\n", { name: "", groupIds: [997] }],
])("parseAccount: %j", (text, expected) => {
  expect(parseAccount(text)).toEqual({ userId: 998, groupId: 997, ...expected });
});

test.each(["", "uid=998(robot)\n", "id: no such user\n"])("parseAccount: %j → null", (text) => {
  expect(parseAccount(text)).toBeNull();
});
