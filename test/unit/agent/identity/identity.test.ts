import { join } from "node:path";

import { expect, test } from "vitest";

import { createIdentityLoop } from "../../../../src/agent/identity/identity.ts";
import { createIdentityFiles } from "../../../../src/agent/identity/identity-files.ts";
import { createKey } from "../../../../src/agent/identity/key.ts";
import type { CredentialRecord } from "../../../../src/agent/identity/records.ts";
import { createIdentityClient } from "../../../../src/client/identity-client.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { SteppedClock } from "../../fingerprint/machine.ts";
import { createRobot } from "../robot-in-process.ts";

/** The loop of a robot with a key of another service, until it enrolls or `stop` is called. */
async function keyOfOtherService() {
  const clock = new SteppedClock();
  const { machine, disk, initial, stateDirectory, connect } = await createRobot(clock);
  const files = createIdentityFiles(machine.files, stateDirectory);
  const key = createKey(machine.random, "https://old.example", await machine.identity.machine(), 0);
  await files.saveKey(key);
  const { access } = connect(initial);
  const running = new AbortController();
  const stop = () => running.abort();
  const discarded: string[] = [];
  const quiet = () => {};
  const run = async (credential: CredentialRecord | null) => {
    const identity = createIdentityLoop({
      machine,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      version: "0.0.0",
      files,
      stored: { key, enrolment: null, credential, setAside: [] },
      credentialPath: join(stateDirectory, "identity-credential.json"),
      service: () => ({
        url: "http://127.0.0.1:1",
        client: createIdentityClient(access),
        heartbeatMs: 30_000,
        bulkKey: async () => null,
        discardBulkKey: async () => void discarded.push("key"),
      }),
      async describeRobot() {
        stop();
        throw running.signal.reason;
      },
      readiness: () => ({ problem: null, registeredDigest: null }),
      onChange: () => credential !== null && stop(),
      onEnrolled: quiet,
      onReturn: quiet,
    });
    await identity.run(running.signal);
    return identity;
  };
  return { clock, disk, stateDirectory, files, key, discarded, run };
}

test("identity: of another service, and a full disk → a fresh key after the short backoff", async () => {
  const { clock, disk, stateDirectory, files, run } = await keyOfOtherService();
  let refusals = 2;
  disk.createExclusive = (path, ...rest) => {
    if (path.startsWith(join(stateDirectory, "identity-key.json")) && refusals > 0) {
      refusals -= 1;
      return Promise.reject(Object.assign(new Error("disk full"), { code: "ENOSPC" }));
    }
    return systemFiles.createExclusive(path, ...rest);
  };
  await run(null);
  expect(clock.sleepsMs).toEqual([2000, 4000]);
  expect((await files.load(false)).key?.service_url).toBe("http://127.0.0.1:1");
});

test("identity: enrolled at another service → said at the start, and the enrolment key of this one stays", async () => {
  const { clock, key, discarded, run } = await keyOfOtherService();
  const identity = await run({
    public_key: key.public_key,
    robot_id: "rob_1",
    robot_name: "arm-7",
    installation_id: "inst_1",
    installation_token: "t".repeat(24),
    credential_expires_at: "2100-01-01T00:00:00Z",
    renew_after_s: 3600,
    issued_at: "2026-01-01T00:00:00Z",
  });
  expect(identity.status()).toMatchObject({
    state: "unenrolled",
    problem: "this robot is enrolled at https://old.example",
  });
  expect(discarded).toEqual([]);
  expect(clock.sleepsMs).toEqual([]);
});
