import { expect, test } from "vitest";

import { createCourse, type IdentityOptions } from "../../../../src/agent/identity/course.ts";
import { createHeldCredential } from "../../../../src/agent/identity/credential.ts";
import { createIdentityFiles } from "../../../../src/agent/identity/identity-files.ts";
import { createKey } from "../../../../src/agent/identity/key.ts";
import { createUpkeep } from "../../../../src/agent/identity/upkeep.ts";
import { createIdentityClient } from "../../../../src/client/identity-client.ts";
import { SteppedClock } from "../../fingerprint/machine.ts";
import { createRobot } from "../robot-in-process.ts";

/** The first retry of a failed request, without jitter. */
const RETRY_MS = 2000;

test("name doubted after a failed heartbeat → the next one not before its time", async () => {
  const clock = new SteppedClock();
  const robot = await createRobot(clock);
  const { machine, initial, stateDirectory, connect, requests } = robot;
  const key = createKey(machine.random, "http://127.0.0.1:1", await machine.identity.machine(), 0);
  const credential = {
    public_key: key.public_key,
    robot_id: "rob_1",
    robot_name: "arm-7",
    installation_id: "inst_1",
    installation_token: "t".repeat(24),
    credential_expires_at: "2100-01-01T00:00:00Z",
    renew_after_s: 3600,
    issued_at: new Date(clock.wallMs()).toISOString(),
  };
  const files = createIdentityFiles(machine.files, stateDirectory);
  const quiet = () => {};
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const options: IdentityOptions = {
    machine,
    log,
    version: "0.0.0",
    files,
    stored: { key, enrolment: null, credential, setAside: [] },
    credentialPath: "",
    service: () => ({
      url: "http://127.0.0.1:1",
      client: createIdentityClient(connect(initial).access),
      heartbeatMs: 30_000,
      bulkKey: async () => null,
      discardBulkKey: async () => {},
    }),
    describeRobot: () => Promise.reject(new Error("not asked")),
    readiness: () => ({ problem: null, registeredDigest: null }),
    onChange: quiet,
    onReturn: quiet,
  };
  const held = createHeldCredential({ machine, files, log, stored: credential });
  const upkeep = createUpkeep(options, createCourse(options, true), held, async () => {});
  const advance = () => upkeep.advance(key, new AbortController().signal);

  robot.answer(503);
  clock.step(upkeep.nextMs() - clock.monotonicMs());
  await advance();
  expect(requests).toHaveLength(1);
  upkeep.doubtName();
  expect(upkeep.nextMs() - clock.monotonicMs()).toBe(RETRY_MS);
  await advance();
  expect(requests).toHaveLength(1);
});
