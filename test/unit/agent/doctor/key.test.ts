import { expect, test } from "vitest";

import { judgeIdentity } from "../../../../src/agent/doctor/key.ts";
import { createIdentityFiles } from "../../../../src/agent/identity/identity-files.ts";
import { createKey } from "../../../../src/agent/identity/key.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { createRobot } from "../robot-in-process.ts";

test.each([
  ["this service", true, { status: "ok", what: "arm-7, credential until 2100-01-01T00:00:00Z" }],
  ["another service", true, { status: "warn", what: "arm-7 is enrolled at https://old.example, not at this service" }],
  ["another service", false, { status: "warn", what: "this robot is not enrolled yet" }],
])("judgeIdentity: a key of %s, enrolled: %s → %j", async (where, isEnrolled, verdict) => {
  const { machine, initial, stateDirectory } = await createRobot(systemClock);
  const files = createIdentityFiles(machine.files, stateDirectory);
  const url = where === "this service" ? initial.service.url : "https://old.example";
  const key = createKey(machine.random, url, await machine.identity.machine(), 0);
  await files.saveKey(key);
  const { public_key: publicKey } = key;
  if (isEnrolled)
    await files.saveCredential({
      public_key: publicKey,
      robot_id: "rob_1",
      robot_name: "arm-7",
      installation_id: "inst_1",
      installation_token: "t".repeat(24),
      credential_expires_at: "2100-01-01T00:00:00Z",
      renew_after_s: 3600,
      issued_at: "2026-01-01T00:00:00Z",
    });
  else
    await files.saveEnrolment({
      public_key: publicKey,
      approval_id: "a",
      poll_token: "p",
      user_code: "ABCD-EFGH",
      expires_at: "2100-01-01T00:00:00Z",
      interval_s: 5,
    });
  expect(await judgeIdentity({ machine, userId: 0 }, { stateDirectory }, initial.service)).toMatchObject(verdict);
});
