import { basename } from "node:path";

import { expect, test } from "vitest";

import { createKey } from "../../../../src/agent/identity/key.ts";
import { createIdentityMachine, type IdentityMachine } from "../../../../src/agent/identity/machine.ts";
import {
  createIdentityFiles,
  type CredentialRecord,
  type KeyRecord,
} from "../../../../src/agent/identity/identity-files.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { SteppedClock } from "../../look/machine.ts";
import { createRobot } from "../robot-in-process.ts";

const URL_HERE = "http://127.0.0.1:1";
const NEVER = "2100-01-01T00:00:00Z";
const TERMS = { credential_expires_at: NEVER, renew_after_s: 3600 };
/** By every clock of today. */
const LAPSED = {
  renew_after_s: 14 * 3600,
  credential_expires_at: "2026-01-02T00:00:00Z",
  issued_at: "2026-01-01T00:00:00Z",
};
const ACCEPTED = { status: 200, body: TERMS };
const STARTED = {
  status: 200,
  body: {
    approval_id: "renr_1",
    user_code: "AAAA-2222",
    poll_token: "rps_poll_0001",
    expires_at: NEVER,
    interval_s: 1,
    approval_required: true,
  },
};

type Answer = { readonly status: number; readonly body: unknown };

interface Life {
  /** Of an enrolled robot. */
  readonly credential?: Partial<CredentialRecord>;
  /** The service that the robot's key is for; no key without it, and without a credential. */
  readonly keyOf?: string;
  /** By the last part of the address; `robot` for the question after its name. */
  readonly answer: (what: string) => Answer;
  /** Simulated. */
  readonly forMs: number;
  /** Before each wait of the machine. */
  readonly onWait?: (machine: IdentityMachine, asked: readonly string[]) => void;
  /** Whether a file of this name cannot be written. */
  readonly isFull?: (name: string) => boolean;
}

/** Runs the identity of a robot for some time; jitter always takes the longest delay. */
async function live({ credential, keyOf, answer, forMs, onWait, isFull }: Life) {
  const clock = new SteppedClock();
  const robot = await createRobot(clock);
  const { stateDirectory, initial, disk } = robot;
  const running = new AbortController();
  const endMs = clock.monotonicMs() + forMs;
  const machine = {
    ...robot.machine,
    clock: {
      wallMs: clock.wallMs,
      monotonicMs: clock.monotonicMs,
      async sleep(durationMs: number, signal?: AbortSignal) {
        onWait?.(
          identity,
          robot.requests.map(({ url }) => lastPart(url)),
        );
        if (clock.monotonicMs() + durationMs > endMs) running.abort();
        signal?.throwIfAborted();
        await clock.sleep(durationMs);
      },
    },
  };
  const files = createIdentityFiles(robot.machine.files, stateDirectory);
  const service = keyOf ?? (credential === undefined ? null : URL_HERE);
  const machineId = await machine.identity.machine();
  const key: KeyRecord | null = service === null ? null : createKey(machine.random, service, machineId, 0);
  if (key !== null) await files.saveKey(key);
  const stored = credential === undefined || key === null ? null : enrolledWith(key, clock.wallMs(), credential);
  disk.createExclusive = (path, ...rest) =>
    isFull?.(basename(path, ".json.new")) === true
      ? Promise.reject(Object.assign(new Error("disk full"), { code: "ENOSPC" }))
      : systemFiles.createExclusive(path, ...rest);
  const requests: { readonly what: string; readonly atMs: number }[] = [];
  robot.respond = ({ url }) => {
    const what = lastPart(url);
    requests.push({ what, atMs: clock.monotonicMs() });
    return answer(what);
  };
  const logged: string[] = [];
  const note = (event: string) => logged.push(event);
  const problems = new Set<string | null>();
  let wakes = 0;
  const identity = createIdentityMachine({
    machine,
    log: { debug: note, info: note, notice: note, warn: note, error: note },
    version: "0.0.0",
    files,
    stored: { key, enrolment: null, credential: stored, setAside: [] },
    settings: { configuration: initial, connection: robot.connect(initial, () => null) },
    report: { robotTypeId: null, digest: null, isSettled: true, readiness: { problem: null, registeredDigest: null } },
    wake: () => (wakes += 1),
  });
  const looking = { ...machine.clock };
  machine.clock.sleep = async (durationMs, signal) => {
    problems.add(identity.view().status?.problem ?? null);
    await looking.sleep(durationMs, signal);
  };
  await identity.run(running.signal);
  const times = (what: string) => requests.flatMap((each) => (each.what === what ? [each.atMs] : []));
  return {
    identity,
    clock,
    files,
    requests: requests.map(({ what }) => what),
    times,
    logged,
    wakes,
    problems: [...problems],
  };
}

function lastPart(url: string): string {
  return url.endsWith("/robots/rob_1") ? "robot" : url.slice(url.lastIndexOf("/") + 1);
}

function enrolledWith(key: KeyRecord, wallMs: number, other: Partial<CredentialRecord>): CredentialRecord {
  return {
    public_key: key.public_key,
    robot_id: "rob_1",
    robot_name: "arm-7",
    installation_id: "inst_1",
    installation_token: "t".repeat(24),
    ...TERMS,
    issued_at: new Date(wallMs).toISOString(),
    ...other,
  };
}

function gaps(times: readonly number[]): readonly number[] {
  return times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
}

const NAMED = (name: string): Answer => ({ status: 200, body: { id: "rob_1", name } });

const REFUSED = (status: number, body: object = {}): Answer => ({ status, body: { detail: "no", ...body } });
const POLLED = (body: object): Answer => ({ status: 200, body });

test.each<[what: string, start: Answer, poll: Answer, problem: string]>([
  ["each code expired at once", STARTED, POLLED({ status: "expired" }), "the service ends each code at once"],
  ["each code consumed at once", STARTED, POLLED({ status: "consumed" }), "the service ends each code at once"],
  [
    "each key in use",
    REFUSED(409, { code: "Conflict", reason: "key_in_use" }),
    POLLED({}),
    "the service knew the key of this robot already, so the robot made a new one",
  ],
])("%s → starts at some distance, at most 40 an hour", async (_what, start, poll, problem) => {
  const answer = (what: string) => (what === "poll" ? poll : start);
  const { times, problems } = await live({ answer, forMs: 3_600_000 });
  const starts = times("enrollment");
  expect(starts.length).toBeGreaterThan(5);
  expect(starts.length).toBeLessThanOrEqual(40);
  expect(problems.filter((each) => each !== null)).toEqual([problem]);
});

test("a proxy answers a poll with 404 → the same code is polled on", async () => {
  let polls = 0;
  const { requests, identity } = await live({
    forMs: 20_000,
    answer(what) {
      if (what !== "poll") return STARTED;
      polls += 1;
      return polls === 1 ? REFUSED(404) : POLLED({ status: "pending", retry_after_s: 5 });
    },
  });
  expect(requests.filter((what) => what === "enrollment")).toHaveLength(1);
  expect(polls).toBeGreaterThan(2);
  expect(identity.view().status).toMatchObject({ user_code: "AAAA-2222", problem: null });
});

test("a code expires after its time → the next one within two seconds, each time", async () => {
  let polls = 0;
  const pending = { status: 200, body: { status: "pending", retry_after_s: 20 } };
  const { times, problems } = await live({
    forMs: 600_000,
    answer(what) {
      if (what !== "poll") return STARTED;
      polls += 1;
      return polls % 4 === 0 ? { status: 200, body: { status: "expired" } } : pending;
    },
  });
  const codes = gaps(times("enrollment"));
  expect(codes.length).toBeGreaterThan(5);
  expect(Math.max(...codes)).toBeLessThanOrEqual(1000 + 3 * 20_000 + 2000);
  expect(problems).toEqual([null]);
});

test("a key of another service, and a full disk → a fresh key after the short backoff", async () => {
  const answer = () => ({ status: 503, body: {} });
  let refusals = 0;
  const isFull = (name: string) => name === "identity-key" && (refusals += 1) <= 2;
  const { times, files, clock } = await live({ keyOf: "https://old.example", isFull, forMs: 7000, answer });
  expect(clock.sleepsMs.slice(0, 2)).toEqual([2000, 4000]);
  expect(times("enrollment")).toHaveLength(1);
  expect((await files.load(false)).key?.service_url).toBe(URL_HERE);
});

test("enrolled at another service → said at the start, and nothing is sent to this one", async () => {
  const { identity, requests, clock } = await live({
    keyOf: "https://old.example",
    credential: {},
    forMs: 0,
    answer: () => ACCEPTED,
  });
  const problem = "this robot is enrolled at https://old.example";
  expect(identity.view().status).toMatchObject({ state: "unenrolled", problem });
  expect([requests, clock.sleepsMs]).toEqual([[], []]);
});

test("name doubted after a failed heartbeat → the next one not before its time", async () => {
  let isDoubted = false;
  const { times } = await live({
    credential: {},
    forMs: 10_000,
    answer: () => ({ status: 503, body: {} }),
    onWait(machine, asked) {
      if (asked.length === 0 || isDoubted) return;
      isDoubted = true;
      machine.credentialRefused("forbidden");
    },
  });
  expect(gaps(times("heartbeat"))).toEqual([2000, 4000]);
});

test("heartbeat refused, credential renewed → the heartbeat is repeated at once; refused again → not before a renewal", async () => {
  let renewals = 0;
  const answer = (what: string) => {
    if (what !== "renew") return { status: 401, body: { detail: "no" } };
    renewals += 1;
    return { status: 200, body: { ...TERMS, installation_id: "inst_1", installation_token: `${renewals}`.repeat(24) } };
  };
  const { requests, times } = await live({ credential: {}, forMs: 7 * 60_000, answer });
  expect(requests.slice(0, 4)).toEqual(["heartbeat", "renew", "heartbeat", "renew"]);
  expect(gaps(times("renew"))).toEqual([5 * 60_000]);
});

test("renewals fail between accepted heartbeats → each later than the one before; the reason stays, and is logged once", async () => {
  const due = { status: 200, body: { ...TERMS, renew_after_s: 0 } };
  const { times, problems, logged } = await live({
    credential: { renew_after_s: 0 },
    forMs: 250_000,
    answer: (what) => (what === "renew" ? { status: 503, body: { detail: "no" } } : due),
  });
  expect(gaps(times("renew"))).toEqual([2000, 4000, 8000, 16_000, 32_000, 64_000, 120_000]);
  expect(problems).toEqual(["HTTP 503: no"]);
  expect(logged.filter((event) => event === "identity-delayed")).toHaveLength(1);
});

test("the service has no heartbeats, or another server answers → asked every five minutes, and said", async () => {
  const answer = () => ({ status: 404, body: { detail: "no" } });
  const { times, problems } = await live({ credential: {}, forMs: 12 * 60_000, answer });
  expect(gaps(times("heartbeat"))).toEqual([330_000, 330_000]);
  expect(problems).toEqual([null, "HTTP 404: no"]);
});

test("heartbeats fail while the readiness changes → sent no more often for each report of a run", async () => {
  let reports = 0;
  const { times } = await live({
    credential: {},
    forMs: 60_000,
    answer: () => (reports === 0 ? ACCEPTED : REFUSED(503)),
    onWait(machine, asked) {
      if (asked.length === 0 || reports > 1000) return;
      reports += 1;
      const readiness = { problem: reports % 2 === 0 ? null : "Key not accepted", registeredDigest: null };
      machine.report({ robotTypeId: null, digest: null, isSettled: true, readiness });
    },
  });
  // One that reports the change, and repetitions after 2 s, 4 s, 8 s and 16 s.
  expect(times("heartbeat").length).toBeLessThanOrEqual(7);
});

test("renewed, but the disk is full → the new credential is used once the old one is refused, and the agent hears of it", async () => {
  const renewed = { ...TERMS, installation_id: "inst_1", installation_token: "n".repeat(24) };
  const used: (string | null)[] = [];
  const { wakes, problems } = await live({
    credential: LAPSED,
    forMs: 20_000,
    isFull: (name) => name === "identity-credential",
    answer: (what) => (what === "renew" ? { status: 200, body: renewed } : ACCEPTED),
    onWait(machine, asked) {
      const credential = machine.credential(URL_HERE);
      used.push(credential?.kind === "credential" ? credential.secret.reveal().slice(0, 1) : null);
      if (asked.includes("renew") && used.at(-1) === "t") machine.credentialRefused("unauthorized");
    },
  });
  expect([used.slice(0, 2), used.at(-1), wakes]).toEqual([["t", "n"], "n", 1]);
  expect(problems.at(-1)).toContain("ENOSPC");
});

test.each<[what: string, credential: Partial<CredentialRecord>, renewals: number]>([
  ["lasts ten years", { renew_after_s: 6 * 365 * 24 * 3600, credential_expires_at: "2036-01-01T00:00:00Z" }, 0],
  ["was issued while the clock was years ahead", { issued_at: "2090-01-01T00:00:00Z" }, 0],
  ["is due since the robot was switched off", LAPSED, 1],
])("a credential that %s → %s renewals", async (_what, credential, renewals) => {
  const renewed = { ...TERMS, installation_id: "inst_1", installation_token: "n".repeat(24) };
  const answer = (what: string) => (what === "renew" ? { status: 200, body: renewed } : ACCEPTED);
  const { times } = await live({ credential, forMs: 60_000, answer });
  expect([times("renew").length, times("heartbeat").length > 1]).toEqual([renewals, true]);
});

test("service gives a wrong name → asked with each heartbeat while registrations are refused, until it gives the right one", async () => {
  const unregistered = { robotTypeId: null, digest: null, isSettled: true };
  let name = "other";
  const { identity, times } = await live({
    credential: {},
    forMs: 6 * 33_000,
    answer: (what) => (what === "robot" ? NAMED(name) : ACCEPTED),
    onWait(machine, asked) {
      const count = asked.filter((what) => what === "robot").length;
      if (count === 0) {
        machine.report({ ...unregistered, readiness: { problem: "Key not accepted", registeredDigest: null } });
        machine.credentialRefused("forbidden");
      }
      if (count === 2) name = "arm-7";
      if (count === 3) machine.report({ ...unregistered, readiness: { problem: null, registeredDigest: null } });
    },
  });
  expect(times("robot").length).toBe(4);
  expect(times("heartbeat").length).toBeGreaterThan(5);
  expect(identity.view().approved?.robot_name).toBe("arm-7");
});
