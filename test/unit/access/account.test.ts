import { describe, expect, test } from "vitest";

import { findServiceAccount, parseUsers } from "../../../src/access/account.ts";
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

test("parseUsers: getent output → users with numeric ids", () => {
  const passwd =
    "root:x:0:0:root:/root:/bin/bash\nagent:x:990:989::/nonexistent:/usr/sbin/nologin\nodd:x:-1:1::/:\nx\n";
  expect(parseUsers(passwd)).toEqual([
    { name: "root", userId: 0, groupId: 0 },
    { name: "agent", userId: 990, groupId: 989 },
  ]);
});
