import { expect, test } from "vitest";

import { findAccount } from "../../../src/installer/accounts.ts";

const passwd =
  "root:x:0:0:root:/root:/bin/bash\nrobot-policy-agent:x:990:989::/nonexistent:/usr/sbin/nologin\nodd:x:-1:1::/:\n";

test.each([
  ["robot-policy-agent", { user_id: 990, group_id: 989 }],
  ["root", { user_id: 0, group_id: 0 }],
  ["robot", null],
  ["odd", null],
])("findAccount: %s → %o", (name, account) => {
  expect(findAccount(passwd, name)).toEqual(account);
});
