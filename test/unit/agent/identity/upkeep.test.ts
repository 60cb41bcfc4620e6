import { expect, test } from "vitest";

import { createCourse, type IdentityOptions } from "../../../../src/agent/identity/course.ts";
import { createHeldCredential } from "../../../../src/agent/identity/credential.ts";
import { createIdentityFiles } from "../../../../src/agent/identity/identity-files.ts";
import { createKey } from "../../../../src/agent/identity/key.ts";
import { createUpkeep } from "../../../../src/agent/identity/upkeep.ts";
import { createIdentityClient } from "../../../../src/client/identity-client.ts";
import type { CredentialRecord } from "../../../../src/agent/identity/records.ts";
import { SteppedClock } from "../../fingerprint/machine.ts";
import { createRobot } from "../robot-in-process.ts";

/** The first retry of a failed request, without jitter. */
const RETRY_MS = 2000;

/** The upkeep of an enrolled robot. */
async function enrolledRobot(terms: Partial<CredentialRecord> = {}) {
  const clock = new SteppedClock();
  const robot = await createRobot(clock);
  const { machine, initial, stateDirectory, connect } = robot;
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
    ...terms,
  };
  const files = createIdentityFiles(machine.files, stateDirectory);
  const quiet = () => {};
  let problem: string | null = null;
  const setProblem = (next: string | null) => (problem = next);
  const warned: string[] = [];
  const log = { debug: quiet, info: quiet, warn: (event: string) => warned.push(event), error: quiet };
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
    readiness: () => ({ problem, registeredDigest: null }),
    onChange: quiet,
    onEnrolled: quiet,
    onReturn: quiet,
  };
  const held = createHeldCredential({ machine, files, log, stored: credential });
  const course = createCourse(options, true);
  const upkeep = createUpkeep(options, course, held, async () => upkeep.credentialChanged(false));
  const advance = () => upkeep.advance(key, new AbortController().signal);
  return { robot, clock, course, held, upkeep, advance, setProblem, warned };
}

test("name doubted after a failed heartbeat → the next one not before its time", async () => {
  const { robot, clock, upkeep, advance } = await enrolledRobot();
  robot.answer(503);
  clock.step(upkeep.nextMs() - clock.monotonicMs());
  await advance();
  expect(robot.requests).toHaveLength(1);
  upkeep.doubtName();
  expect(upkeep.nextMs() - clock.monotonicMs()).toBe(RETRY_MS);
  await advance();
  expect(robot.requests).toHaveLength(1);
});

test("heartbeat refused, credential renewed → the heartbeat is repeated at once; refused again → not before a renewal", async () => {
  const { robot, clock, upkeep, advance } = await enrolledRobot();
  const terms = { credential_expires_at: "2100-01-01T00:00:00Z", renew_after_s: 3600 };
  const issued = { ...terms, installation_id: "inst_1", installation_token: "n".repeat(24) };
  robot.respond = ({ url }) =>
    url.endsWith("/credential/renew") ? { status: 200, body: issued } : { status: 401, body: { detail: "no" } };
  clock.step(upkeep.nextMs() - clock.monotonicMs());
  for (let times = 0; times < 3; times++) if (upkeep.nextMs() <= clock.monotonicMs()) await advance();
  const sent = robot.requests.map(({ url }) => url.slice(url.lastIndexOf("/") + 1));
  expect(sent).toEqual(["heartbeat", "renew", "heartbeat"]);
  expect(upkeep.nextMs() - clock.monotonicMs()).toBe(5 * 60_000);
});

test("renewals fail between accepted heartbeats → each later than the one before; the reason stays, and is logged once", async () => {
  const { robot, clock, course, upkeep, advance, warned } = await enrolledRobot({ renew_after_s: 0 });
  const renewedMs: number[] = [];
  robot.respond = ({ url }) => {
    if (url.endsWith("/credential/renew")) {
      renewedMs.push(clock.monotonicMs());
      return { status: 503, body: { detail: "no" } };
    }
    return { status: 200, body: { credential_expires_at: "2100-01-01T00:00:00Z", renew_after_s: 0 } };
  };
  const problems = new Set<string | null>();
  while (renewedMs.length < 8) {
    clock.step(Math.max(0, upkeep.nextMs() - clock.monotonicMs()));
    await advance();
    problems.add(course.failure?.detail ?? null);
  }
  const delaysMs = renewedMs.slice(1).map((atMs, index) => atMs - (renewedMs[index] ?? 0));
  expect(delaysMs).toEqual([2000, 4000, 8000, 16_000, 32_000, 64_000, 120_000]);
  expect([...problems]).toEqual(["HTTP 503: no"]);
  expect(warned).toEqual(["identity-delayed"]);
});

test("service gives a wrong name → asked with each heartbeat while registrations are refused, until it gives the right one", async () => {
  const { robot, clock, held, upkeep, advance, setProblem } = await enrolledRobot();
  let name = "other";
  robot.respond = ({ method }) => ({
    status: 200,
    body:
      method === "GET" ? { id: "rob_1", name } : { credential_expires_at: "2100-01-01T00:00:00Z", renew_after_s: 3600 },
  });
  const beat = async () => {
    clock.step(Math.max(0, upkeep.nextMs() - clock.monotonicMs()));
    await advance();
  };
  const asked = () => robot.requests.filter(({ method }) => method === "GET").length;
  setProblem("Key not accepted");
  upkeep.doubtName();
  await beat();
  await beat();
  expect([held.record?.robot_name, asked()]).toEqual(["other", 2]);
  name = "arm-7";
  await beat();
  expect(held.record?.robot_name).toBe("arm-7");
  setProblem(null);
  upkeep.readinessChanged();
  await beat();
  await beat();
  expect(asked()).toBe(4);
});
