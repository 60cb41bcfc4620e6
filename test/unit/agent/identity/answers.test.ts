import { expect, test } from "vitest";

import { judgeHeartbeat, judgePoll, judgeRenewal, judgeStart } from "../../../../src/agent/identity/answers.ts";
import type { CallResult } from "../../../../src/client/call-result.ts";

function refused(status: number, reason?: string, retryAfterMs: number | null = null): CallResult<never> {
  return { ...refusedByProxy(status, reason, retryAfterMs), code: "any" };
}

/** Without the code that the service gives. */
function refusedByProxy(
  status: number,
  reason?: string,
  retryAfterMs: number | null = null,
): Extract<CallResult<never>, { kind: "refused" }> {
  return {
    kind: "refused",
    status,
    detail: "no",
    ...(reason === undefined ? {} : { reason }),
    validation: null,
    retryAfterMs,
    request_id: null,
  };
}

const UNREACHABLE = { kind: "unreachable", reason: "connect", code: "ECONNREFUSED", detail: "refused" } as const;

test.each([
  [refused(401, "proof_invalid"), { kind: "refused", state: "unenrolled" }],
  [refused(403, "installation_frozen"), { kind: "refused", state: "frozen" }],
  [refused(403, "recovery_window_over"), { kind: "refused", state: "lapsed" }],
  [refused(403, "recovery_budget_spent"), { kind: "refused", state: "lapsed" }],
  [refusedByProxy(401), { kind: "later", state: "unreachable" }],
  [refusedByProxy(403), { kind: "later", state: "unreachable" }],
  [refused(409, "nonce_used"), { kind: "fresh-nonce" }],
  [refused(429, undefined, 7000), { kind: "later", state: "unreachable", retryAfterMs: 7000 }],
  [refused(503), { kind: "later", state: "unreachable" }],
  [refused(422), { kind: "later", state: "rejected" }],
  [UNREACHABLE, { kind: "later", state: "unreachable" }],
])("judgeRenewal: $status $reason", (result, expected) => {
  expect(judgeRenewal(result)).toMatchObject(expected);
});

test.each([
  [refused(401, "credential_expired"), { kind: "doubted" }],
  [refused(403, "installation_frozen"), { kind: "refused", state: "frozen" }],
  [refused(403, "scope"), { kind: "later", state: "unauthorized" }],
  [
    { ...refusedByProxy(401), isWebPage: true },
    { kind: "later", state: "unreachable" },
  ],
  [refused(404), { kind: "unknown-here" }],
  [refused(500), { kind: "later", state: "unreachable" }],
])("judgeHeartbeat: $status $reason", (result, expected) => {
  expect(judgeHeartbeat(result)).toMatchObject(expected);
});

test.each([
  [
    { kind: "ok", status: 200, value: { status: "pending", retry_after_s: 5 } },
    { kind: "pending", waitMs: 5000 },
  ],
  [
    { kind: "ok", status: 200, value: { status: "pending" } },
    { kind: "pending", waitMs: null },
  ],
  [{ kind: "ok", status: 200, value: { status: "denied" } }, { kind: "denied" }],
  [{ kind: "ok", status: 200, value: { status: "expired" } }, { kind: "over" }],
  [{ kind: "ok", status: 200, value: { status: "consumed" } }, { kind: "fresh-key" }],
  [refused(404), { kind: "over" }],
  [refusedByProxy(404), { kind: "later", state: "unreachable" }],
  [refusedByProxy(400), { kind: "later", state: "unreachable" }],
  [refused(422), { kind: "later", state: "unreachable" }],
  [refused(502), { kind: "later", state: "unreachable" }],
] as const)("judgePoll: %j", (result, expected) => {
  expect(judgePoll(result)).toMatchObject(expected);
});

test.each([
  [refused(409, "key_in_use"), { kind: "fresh-key" }],
  [refused(403, "uses_spent"), { kind: "later", state: "unauthorized" }],
  [refused(404), { kind: "later", state: "misconfigured" }],
  [refused(429, undefined, 1000), { kind: "later", state: "unreachable", retryAfterMs: 1000 }],
])("judgeStart: $status $reason", (result, expected) => {
  expect(judgeStart(result)).toMatchObject(expected);
});
