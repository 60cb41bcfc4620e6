import { describe, expect, it } from "vitest";

import type { FleetView } from "../../../src/api/fleets.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";
import type { CallResult } from "../../../src/client/call-result.ts";
import type { OperatorContext } from "../../../src/operator/context.ts";
import { readDuration } from "../../../src/operator/flags.ts";
import { endOf } from "../../../src/operator/fleets/wait.ts";
import { withRelativeTimes } from "../../../src/operator/times.ts";
import type { Service } from "../../../src/operator/service.ts";
import { type Look, waitUntilEnded } from "../../../src/operator/wait.ts";
import { EXIT } from "../../../src/platform/terminal.ts";

function open(timeout = 60_000) {
  let err = "";
  let nowMs = 0;
  const pauses: number[] = [];
  const terminal = createTerminal({
    stdout: { write() {} },
    stderr: { write: (text) => void (err += text) },
    environment: {},
  });
  const clock = {
    monotonicMs: () => nowMs,
    wall_ms: () => nowMs,
    /** Time passes where nothing else happens. */
    async sleep(ms: number, signal?: AbortSignal) {
      await new Promise(setImmediate);
      signal?.throwIfAborted();
      pauses.push(Math.round(ms));
      nowMs += ms;
    },
  };
  const machine = { clock, random: { unit: () => 1, bytes: (count: number) => new Uint8Array(count) } };
  const context = { terminal, machine, signal: new AbortController().signal } as unknown as OperatorContext;
  const service = {
    context,
    flags: { timeout },
    failed: () => {
      err += "failed\n";
      return EXIT.rejected;
    },
  } as unknown as Service;
  return { context, service, pauses, err: () => err, nowMs: () => nowMs };
}

const state = (summary: string, ended: Look["ended"] = null): Look => ({ lines: [summary], summary, ended });
const look = (summary: string, ended: Look["ended"] = null): CallResult<Look> => ({
  kind: "ok",
  status: 200,
  value: state(summary, ended),
});
const lost: CallResult<Look> = {
  kind: "unreachable",
  reason: "connect",
  code: null,
  detail: "connection refused",
};
const forbidden: CallResult<Look> = {
  kind: "refused",
  status: 403,
  detail: "Forbidden",
  validation: null,
  retryAfterMs: null,
  request_id: null,
};

/** A wait that starts in state `a` and then fetches these states in turn; the last one repeats. */
function waiting(...results: readonly CallResult<Look>[]) {
  let index = 0;
  const fetch = async () => results[Math.min(index++, results.length - 1)] ?? lost;
  return { first: state("a"), fetch, look: (each: Look) => each, later: () => "look later" };
}

describe("waitUntilEnded", () => {
  it("prints each change once but not the result, polls less and less often, and returns the exit code", async () => {
    const { service, pauses, err } = open();
    const ended = { exitCode: EXIT.ok, problem: null };
    const steps = [...Array.from({ length: 7 }, () => look("a")), look("ready", ended)];
    const { exitCode, last } = await waitUntilEnded(service, waiting(...steps));
    expect([exitCode, err(), last.summary]).toEqual([0, "a\n", "ready"]);
    expect(pauses).toEqual([250, 375, 563, 844, 1266, 1898, 2000, 2000]);
  });

  it("line feed in what a robot says → does not start a new line", async () => {
    const { service, err } = open();
    const steps = [look("not ready: a\n→ b"), look("ready", { exitCode: EXIT.ok, problem: null })];
    await waitUntilEnded(service, waiting(...steps));
    expect(err()).toBe("a\nnot ready: a → b\n");
  });

  it("outage → continues, reports it once", async () => {
    const { service, err } = open();
    const ended = { exitCode: EXIT.ok, problem: null };
    const steps = waiting(lost, lost, lost, look("a"), look("b", ended));
    expect((await waitUntilEnded(service, steps)).exitCode).toBe(0);
    expect(err()).toBe("a\nconnection refused; trying again\n");
  });

  it("busy service → waits at least its Retry-After", async () => {
    const { service, pauses } = open();
    const busy: CallResult<Look> = { ...forbidden, status: 503, retryAfterMs: 7000 };
    const steps = waiting(busy, look("b", { exitCode: EXIT.ok, problem: null }));
    expect((await waitUntilEnded(service, steps)).exitCode).toBe(0);
    expect(pauses).toHaveLength(2);
    expect(pauses[1]).toBeGreaterThanOrEqual(7000);
  });

  it("permanent failure → ends at once", async () => {
    const { service, err } = open();
    expect((await waitUntilEnded(service, waiting(forbidden))).exitCode).toBe(6);
    expect(err()).toBe("a\nfailed\n");
  });

  it("--timeout → never waits longer, polls once more at the end, and prints the next step", async () => {
    const { service, err, nowMs } = open(5000);
    expect((await waitUntilEnded(service, waiting(look("a")))).exitCode).toBe(1);
    expect(nowMs()).toBe(5000);
    expect(err()).toBe("a\nerror: after 5 s: a [timeout]\n  → look later\n");
  });

  it("--timeout, and the service does not answer → ends all the same", async () => {
    const { service, err, nowMs } = open(5000);
    const steps = { ...waiting(), fetch: () => new Promise<never>(() => {}) };
    expect((await waitUntilEnded(service, steps)).exitCode).toBe(1);
    expect(nowMs()).toBe(5000);
    expect(err()).toBe("a\nerror: after 5 s: a [timeout]\n  → look later\n");
  });
});

const fleet = (parts: Partial<FleetView>): FleetView => ({
  id: "fleet_1",
  name: "f",
  subject: "pi0.5",
  readiness_mode: "always_ready",
  peak_active_robots: 1,
  status: "preparing",
  robots: { registered: 2, ready: 1, active: 0, waiting: 0, blocked: 1 },
  ...parts,
});
const generation = (generationId: string, status = "active") => ({ subject: "m", generation_id: generationId, status });

describe("exit code of a wait for a fleet", () => {
  it.each<[what: string, parts: Partial<FleetView>, exitCode: number | undefined]>([
    ["ready", { status: "ready" }, 0],
    ["degraded", { status: "degraded" }, 6],
    ["blocked", { status: "blocked", blocker: "mend it" }, 6],
    ["preparing", { active_model: generation("g", "preparing") }, undefined],
    ["preparing, without a model in the view", { active_model: null }, undefined],
    ["prepared, before its window", { active_model: generation("g"), readiness_mode: "scheduled" }, undefined],
  ])("no update: %s", (_what, parts, exitCode) => {
    expect(endOf(fleet(parts), null)?.exitCode).toBe(exitCode);
  });

  it.each<[what: string, parts: Partial<FleetView>, exitCode: number | undefined]>([
    ["active", { status: "ready", active_model: generation("new"), update: null }, 0],
    ["active, before its window", { active_model: generation("new") }, undefined],
    ["active, and degraded since", { status: "degraded", active_model: generation("new") }, 6],
    ["active, in another service's words", { status: "ready", active_model: generation("new", "live") }, 0],
    ["active, and the next begins", { status: "ready", active_model: generation("new"), update: generation("n") }, 0],
    [
      "in progress",
      { status: "ready", active_model: generation("old"), update: generation("new", "pending") },
      undefined,
    ],
    ["in progress, no model is told", { status: "ready", update: generation("new", "pending") }, undefined],
    ["blocked", { status: "ready", active_model: generation("old"), update: generation("new", "blocked") }, 6],
    ["replaced", { status: "ready", active_model: generation("old"), update: generation("other", "pending") }, 7],
    ["replaced, no model is told", { status: "ready", update: generation("other", "pending") }, 7],
    ["taken back", { status: "ready", active_model: generation("old"), update: null }, 7],
    ["a service that tells the status alone: ready", { status: "ready" }, 0],
    ["a service that tells the status alone: blocked", { status: "blocked" }, 6],
  ])("update: %s", (_what, parts, exitCode) => {
    expect(endOf(fleet(parts), "new")?.exitCode).toBe(exitCode);
  });
});

describe("text formats", () => {
  it.each([
    ["90", 90_000],
    ["90s", 90_000],
    ["10m", 600_000],
    ["2h", 7_200_000],
    ["0", 0],
    ["169h", null],
    ["1d", null],
    ["-1s", null],
    ["1.5h", null],
    ["", null],
    ["9".repeat(400), null],
  ])("readDuration(%j) is %j", (text, expected) => {
    const read = readDuration(text);
    expect("value" in read ? read.value : null).toBe(expected);
  });

  const NOW = { ms: Date.parse("2026-11-22T09:43:00Z"), isAbsolute: false };
  it.each([
    ["since 2026-11-22T09:30:05.120Z: status 503", "since 09:30Z (12 min ago): status 503"],
    ["until 2026-11-22T11:50Z.", "until 11:50Z (in 2 h)."],
    ["since 2026-11-19T09:30:05Z", "since 2026-11-19 09:30Z (3 d ago)"],
    ["until 2030-01-31T08:00:00.000Z", "until 2030-01-31 08:00Z"],
    ["since 2026-11-22T09:43:07Z by a clock that is ahead", "since 09:43Z (now) by a clock that is ahead"],
  ])("withRelativeTimes: %s", (text, expected) => {
    expect(withRelativeTimes(text, NOW)).toBe(expected);
  });
});
