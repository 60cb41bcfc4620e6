import { describe, expect, test } from "vitest";

import { addAccount, findAccount, removeAccount } from "../../../src/installer/accounts.ts";

const NAME = "robot-policy-agent";
const files = {
  passwd: "root:x:0:0:root:/root:/bin/bash\nsync:x:4:65534:sync:/bin:/bin/sync\n",
  group: "root:x:0:\n",
  shadow: "root:*:19000:0:99999:7:::\n",
  gshadow: null,
};

describe("addAccount", () => {
  test("adds a user that nobody can log in as, and its group, with the highest free number", () => {
    expect(addAccount(files, NAME, "Agent")).toEqual({
      passwd: `${files.passwd}robot-policy-agent:x:999:999:Agent:/nonexistent:/usr/sbin/nologin\n`,
      group: `${files.group}robot-policy-agent:x:999:\n`,
      shadow: `${files.shadow}robot-policy-agent:!*:::::::\n`,
      gshadow: null,
    });
  });

  test.each([
    ["a user has it", { passwd: `${files.passwd}a:x:999:1::/:/bin/sh\n` }, 998],
    ["a group has it", { group: `${files.group}a:x:999:\n` }, 998],
    ["a group of the name is there", { group: `${files.group}${NAME}:x:500:\n` }, 500],
    [
      "a group of the name has a user's number",
      { passwd: `${files.passwd}a:x:500:1::/:/bin/sh\n`, group: `${NAME}:x:500:\n` },
      999,
    ],
  ])("another number where %s", (_what, more, user_id) => {
    const after = addAccount({ ...files, ...more }, NAME, "");
    expect(findAccount(after?.passwd ?? "", NAME)?.user_id).toBe(user_id);
  });

  test("files without a last line end, and a user that is there already", () => {
    const after = addAccount({ ...files, passwd: "root:x:0:0::/:/bin/sh" }, NAME, "");
    expect(after?.passwd).toMatch(/^root:x:0:0::\/:\/bin\/sh\nrobot-policy-agent:/);
    expect(after === null ? null : addAccount(after, NAME, "")).toEqual(after);
  });

  test("an image that keeps no users in files is left to its systemd-sysusers; so is one without a free number", () => {
    expect(addAccount({ ...files, passwd: null }, NAME, "")).toBeNull();
    const full = Array.from({ length: 900 }, (_, index) => `g${index}:x:${index + 100}:\n`).join("");
    expect(addAccount({ ...files, group: full }, NAME, "")).toBeNull();
  });
});

test("removeAccount: the files are as they were before addAccount", () => {
  const after = addAccount(files, NAME, "");
  expect(after === null ? null : removeAccount(after, NAME)).toEqual(files);
});

test.each(["", "robot-policy-agent", "robot-policy-agent:x:abc:1::/:", "robot-policy-agent:x:1"])(
  "findAccount: %j names nobody",
  (text) => expect(findAccount(text, NAME)).toBeNull(),
);
