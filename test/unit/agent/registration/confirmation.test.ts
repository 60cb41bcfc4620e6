import { describe, expect, test } from "vitest";

import { createConfirmations, judgeHeld, type Verdict } from "../../../../src/agent/registration/confirmation.ts";
import type { CallResult } from "../../../../src/client/call-result.ts";
import type { HeldRegistration } from "../../../../src/client/client.ts";
import { REGISTRATION } from "../../../support/robot/registration.ts";
import { SteppedClock } from "../../look/machine.ts";

const { request, robot } = REGISTRATION;
const view: HeldRegistration = {
  robot_id: robot.id,
  robot: request.name,
  configuration_digest: request.configuration_digest,
  registered_at: "2026-01-01T00:00:01.010Z",
  robot_type_id: request.robot_type_id,
  region: request.region,
  site: "hall-2",
  labels: { line: "a" },
  contract: { nested: [1, { a: null }], schema: "robot-contract/v1" },
  contested_since: null,
};
const LATER = "2026-01-02T00:00:00Z";
const EARLIER = "2025-12-31T00:00:00Z";

const ok = (changes: Partial<HeldRegistration>): CallResult<HeldRegistration> => {
  return { kind: "ok", status: 200, value: { ...view, ...changes } };
};
const refused = (status: number, retryAfterMs: number | null = null) =>
  ({ kind: "refused", status, detail: "no", validation: null, retryAfterMs, request_id: null }) as const;

const cases: readonly [string, CallResult<HeldRegistration>, Verdict["kind"]][] = [
  ["same registration", ok({}), "held"],
  ["another digest, registered since", ok({ configuration_digest: "sha256:b", registered_at: LATER }), "replaced"],
  ["another digest, registered before", ok({ configuration_digest: "sha256:b", registered_at: EARLIER }), "lost"],
  ["another type", ok({ robot_type_id: "other", registered_at: LATER }), "replaced"],
  ["another region", ok({ region: "us", registered_at: LATER }), "replaced"],
  ["another site", ok({ site: "hall-3", registered_at: LATER }), "replaced"],
  ["no site, from a service without support for sites", ok({ site: undefined }), "held"],
  ["an additional label", ok({ labels: { line: "a", shift: "day" }, registered_at: LATER }), "replaced"],
  ["no contract", ok({ contract: null, registered_at: LATER }), "replaced"],
  ["another robot with this name", ok({ robot_id: "rob_2" }), "lost"],
  ["an answer about another name", ok({ robot: "arm-8" }), "unanswered"],
  ["401: revoked key, which a registration will report", refused(401), "unknown"],
  ["403: a key without the scope", refused(403), "unknown"],
  ["404: no robot, or unsupported operation", refused(404), "unknown"],
  ["405", refused(405), "unknown"],
  ["429", refused(429, 5000), "unanswered"],
  ["503", refused(503), "unanswered"],
  ["a captive portal", { kind: "undecodable", status: 200, detail: "a web page" }, "unanswered"],
  ["the page of a firewall", { ...refused(403), isWebPage: true }, "unanswered"],
  ["no network", { kind: "unreachable", reason: "dns", code: "ENOTFOUND", detail: "no address" }, "unanswered"],
  [
    "no key",
    {
      kind: "no-credential",
      problem: { kind: "credential-problem", code: "key-missing", what: "there is none", where: "", fix: "" },
    },
    "unknown",
  ],
];

describe("judgeHeld", () => {
  test.each(cases)("%s → %o", (_what, result, kind) => {
    expect(judgeHeld(result, REGISTRATION).kind).toBe(kind);
  });
});

describe("createConfirmations", () => {
  const MINUTE_MS = 60_000;
  const HOUR_MS = 60 * MINUTE_MS;

  /** Uses an extreme value of the random source; returns the wait until the next question. */
  function start(unit: number) {
    const clock = new SteppedClock();
    const confirmations = createConfirmations({ clock, random: { unit: () => unit, bytes: () => new Uint8Array() } });
    return { clock, confirmations, waitMs: () => Math.round(confirmations.current.dueMs - clock.monotonicMs()) };
  }

  test.each([
    [0, 4, 0.9, 9],
    [1, 10, 1.1, 11],
  ])(
    "random value %i → %i minutes after a start, %f days after each answer, and %i minutes after a registration",
    (unit, minutes, days, afterRegistration) => {
      const { confirmations, waitMs } = start(unit);
      expect(waitMs()).toBe(minutes * MINUTE_MS);
      const verdicts: readonly Verdict[] = [
        { kind: "held", contestedSince: null },
        { kind: "lost", detail: "" },
        { kind: "unknown", detail: "" },
        { kind: "replaced", at: LATER, configuration_digest: request.configuration_digest },
      ];
      for (const verdict of verdicts) {
        confirmations.take({ kind: "unanswered", detail: "", retryAfterMs: null });
        confirmations.take(verdict);
        expect([verdict.kind, waitMs()]).toEqual([verdict.kind, Math.round(days * 24 * HOUR_MS)]);
      }
      confirmations.take({ kind: "unanswered", detail: "", retryAfterMs: null });
      // The same registration again, because of the answer before.
      confirmations.registered();
      expect(waitMs()).toBe(Math.round(days * 24 * HOUR_MS));
      confirmations.registered();
      expect(waitMs()).toBe(afterRegistration * MINUTE_MS);
      confirmations.take({ kind: "held", contestedSince: null });
      expect(waitMs()).toBe(Math.round(days * 24 * HOUR_MS));
    },
  );

  test("contested name → remembered until the service no longer reports it", () => {
    const { confirmations } = start(1);
    const contested = [EARLIER, null].map((contestedSince) => {
      confirmations.take(judgeHeld(ok({ contested_since: contestedSince }), REGISTRATION));
      return confirmations.current.contestedSince;
    });
    expect(contested).toEqual([EARLIER, null]);
  });

  test("replaced → remembered until the registration is confirmed a day later", () => {
    const { clock, confirmations } = start(1);
    confirmations.take({ kind: "replaced", at: LATER, configuration_digest: request.configuration_digest });
    const remembered = [0, 19 * HOUR_MS, HOUR_MS].map((ms) => {
      clock.step(ms);
      confirmations.take({ kind: "held", contestedSince: null });
      return confirmations.current.replaced?.at;
    });
    expect(remembered).toEqual([LATER, LATER, undefined]);
  });

  test("no answer → retried after a minute, then with growing waits up to an hour, and not before Retry-After", () => {
    const { confirmations, waitMs } = start(1);
    const waits = Array.from({ length: 9 }, () => {
      confirmations.take({ kind: "unanswered", detail: "503", retryAfterMs: null });
      return waitMs() / MINUTE_MS;
    });
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(confirmations.current).toMatchObject({ confirmedAt: null, problem: "503" });
    confirmations.take({ kind: "held", contestedSince: null });
    expect(confirmations.current).toMatchObject({ confirmedAt: expect.any(String), problem: null });
    confirmations.take({ kind: "unanswered", detail: "503", retryAfterMs: 10 * MINUTE_MS });
    expect(waitMs()).toBe(11 * MINUTE_MS);
    expect(confirmations.current.confirmedAt).not.toBeNull();
  });
});
