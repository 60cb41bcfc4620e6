import { readdir } from "node:fs/promises";

import { describe, expect, test } from "vitest";

import { checkClock, judgeKey } from "../../../../src/agent/doctor/answering.ts";
import { CHECK_IDS, fail, ok, startExamination, type Verdict } from "../../../../src/agent/doctor/check.ts";
import { checkDisk } from "../../../../src/agent/doctor/keeping.ts";
import { examineTls } from "../../../../src/agent/doctor/tls.ts";
import { readTimeService } from "../../../../src/agent/doctor/time-service.ts";
import type { Registration } from "../../../../src/agent/registration/record.ts";
import { TransportError } from "../../../../src/client/transport/transport.ts";
import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import { RELEASED_AT_MS } from "../../../../src/platform/release.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { systemMachine } from "../../../../src/platform/machine.ts";
import { temporaryFolder } from "../../look/machine.ts";
import { HeldClock } from "../robot-in-process.ts";

function clockAt(wall: string): Clock {
  return { ...systemClock, wallMs: () => Date.parse(wall) };
}

const LATE: Verdict = fail(4, "nothing within 0.02 s", "wait");

test("checkDisk: killed while it writes → no file is left", async () => {
  const stateDirectory = await temporaryFolder();
  const left: string[] = [];
  const files: typeof systemFiles = {
    ...systemFiles,
    async createExclusive(...asked) {
      const file = await systemFiles.createExclusive(...asked);
      const write = async (bytes: Uint8Array) => {
        left.push(...(await readdir(stateDirectory)));
        await file.write(bytes);
      };
      return { ...file, write };
    },
  };
  const machine = { ...systemMachine({}, process.pid), files };
  const verdict = await checkDisk({ machine, processId: process.pid }, { stateDirectory }, { relation: "same" }, null);
  expect(verdict.what).toContain(`${stateDirectory} can be written`);
  expect(left).toEqual([]);
});

describe("judgeKey", () => {
  const request = { name: "arm-7", robot_type_id: "t", region: "r", configuration_digest: `sha256:${"a".repeat(64)}` };
  const registration: Registration = {
    service_url: "https://policy.example",
    machine: null,
    request,
    in_doubt: false,
    files: [],
    robot: { ...request, id: "rob_1", created_at: "", site: null, labels: {} },
    registered_at: "2026-01-31T08:00:00.000Z",
  };
  const judged = (status: number, detail: string, registered: boolean) => {
    const result = {
      kind: "refused",
      status,
      detail,
      validation: null,
      retryAfterMs: null,
      request_id: null,
    } as const;
    return judgeKey({ result, dated: null }, registered ? registration : null, {
      source: "key-file",
      where: "/etc/api-key",
    });
  };

  test.each([
    [
      "a key with only the scope for setup, robot registered",
      403,
      "The API key lacks the scope robots:read",
      true,
      "ok",
    ],
    ["a key with only the scope for setup, before setup", 403, "The API key lacks the scope robots:read", false, "ok"],
    ["refused for another reason, but registered", 403, "not with this key", true, "warn"],
    ["refused for another reason", 403, "not with this key", false, "fail"],
    ["revoked", 401, "Invalid API key", true, "fail"],
  ] as const)("judgeKey: %s", (_case, status, detail, registered, verdict) => {
    expect(judged(status, detail, registered).status).toBe(verdict);
  });

  test("judgeKey: bad key → names the program that creates keys", () => {
    expect(judged(401, "Invalid API key", true)).toMatchObject({
      remedy: expect.stringContaining("robot-policy-service keys create"),
    });
  });
});

describe("startExamination", () => {
  test("run: check → verdict to the display, value to later checks", async () => {
    const examination = startExamination(systemClock, new AbortController().signal);
    const value = await examination.run("dns", { limitMs: 1000, late: LATE }, async () => ({
      verdict: ok("found"),
      value: 7,
    }));
    expect(value).toBe(7);
    expect(await examination.result("dns")).toMatchObject({ id: "dns", verdict: { status: "ok", what: "found" } });
  });

  test("run: hanging check → timeout verdict at its limit, its signal aborts", async () => {
    const clock = new HeldClock();
    const examination = startExamination(clock, new AbortController().signal);
    let aborted = false;
    const running = examination.run("dns", { limitMs: 1000, late: LATE }, (signal) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return new Promise<never>(() => {});
    });
    clock.step(1000);
    expect(await running).toBeNull();
    expect((await examination.result("dns")).verdict).toBe(LATE);
    expect(aborted).toBe(true);
  });

  test("run: check that fails by its aborted signal → timeout verdict", async () => {
    const clock = new HeldClock();
    const examination = startExamination(clock, new AbortController().signal);
    const running = examination.run("tcp", { limitMs: 1000, late: LATE }, async (signal) => {
      await clock.sleep(10_000, signal);
      return { verdict: ok("never"), value: null };
    });
    clock.step(1000);
    await running;
    expect((await examination.result("tcp")).verdict).toBe(LATE);
  });

  test("run: interrupt → ends at once", async () => {
    const interrupt = new AbortController();
    const examination = startExamination(systemClock, interrupt.signal);
    const running = examination.run("dns", { limitMs: 60_000, late: LATE }, () => new Promise<never>(() => {}));
    interrupt.abort(new Error("interrupted"));
    await expect(running).rejects.toThrow("interrupted");
  });

  test("run: system error → verdict, bug → thrown", async () => {
    const examination = startExamination(systemClock, new AbortController().signal);
    const limit = { limitMs: 1000, late: LATE };
    await examination.run("disk", limit, () => Promise.reject(Object.assign(new Error("no"), { code: "EIO" })));
    expect((await examination.result("disk")).verdict).toMatchObject({ status: "fail", exitCode: 1 });
    await expect(examination.run("state", limit, () => Promise.reject(new TypeError("bug")))).rejects.toThrow("bug");
  });

  test("CHECK_IDS: unique, and each a single word for scripts", () => {
    expect(new Set(CHECK_IDS).size).toBe(CHECK_IDS.length);
    for (const id of CHECK_IDS) expect(id).toMatch(/^[a-z]+$/);
  });
});

describe("checkClock", () => {
  test("scenario 3: clock at 1970, no answer to compare with → error", () => {
    expect(checkClock(clockAt("1970-01-01T00:01:00Z"), null, "unknown")).toMatchObject({
      status: "fail",
      exitCode: 4,
      what: "the clock says 1970-01-01T00:01, before this program was written",
    });
  });

  test.each([
    ["unknown", "skip"],
    ["synchronized", "skip"],
    ["not-synchronized", "warn"],
    ["not-installed", "warn"],
  ] as const)("checkClock: plausible time, time service %s → %s", (service, status) => {
    expect(checkClock(clockAt("2030-01-01T00:00:00Z"), null, service).status).toBe(status);
  });

  test.each([
    ["NTPSynchronized=yes\nCanNTP=yes\n", "synchronized"],
    ["CanNTP=yes\nNTPSynchronized=no\n", "not-synchronized"],
    ["CanNTP=no\nNTPSynchronized=no\n", "not-installed"],
    // Set by a program unknown to systemd.
    ["CanNTP=no\nNTPSynchronized=yes\n", "synchronized"],
    ["", "unknown"],
  ])("readTimeService: %j → %s", (shown, service) => {
    expect(readTimeService(shown)).toBe(service);
  });

  test("checkClock: no time service installed → the remedy names the package", () => {
    for (const now of ["1970-01-01T00:01:00Z", "2030-01-01T00:00:00Z"]) {
      expect(checkClock(clockAt(now), null, "not-installed")).toMatchObject({
        remedy: expect.stringContaining("sudo apt install systemd-timesyncd"),
      });
    }
  });

  test("RELEASED_AT_MS: in the past", () => {
    expect(RELEASED_AT_MS).toBeLessThan(Date.now());
  });
});

test.each([
  ["https://policy.example", "policy.example:443"],
  ["https://[::1]:8443", "[::1]:8443"],
])("examineTls: %s, refused for an unknown reason → a command for that port", async (address, connected) => {
  const route = { url: new URL(address), proxy: null, caFile: null };
  const error = new TransportError("reset", null, "the connection broke");
  const examined = await examineTls(route, { kind: "failed", error }, systemClock, new AbortController().signal);
  // openssl-s_client(1): without a port it connects to 4433.
  expect(examined).toMatchObject({ remedy: `inspect the connection: openssl s_client -connect ${connected}` });
});
