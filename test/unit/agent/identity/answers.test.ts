import { expect, test } from "vitest";

import { type Failed, judgeHeartbeat, judgePoll, judgeRenewal, later } from "../../../../src/agent/identity/answers.ts";

type Refusal = Extract<Failed, { kind: "refused" }>;

function refused(status: number, reason?: string, retryAfterMs: number | null = null): Refusal {
  return { ...refusedByProxy(status, reason, retryAfterMs), code: "any" };
}

/** Without the code that the service gives. */
function refusedByProxy(status: number, reason?: string, retryAfterMs: number | null = null): Refusal {
  const detail = { detail: "no", ...(reason === undefined ? {} : { reason }) };
  return { kind: "refused", status, ...detail, validation: null, retryAfterMs, request_id: null };
}

const UNREACHABLE = { kind: "unreachable", reason: "connect", code: "ECONNREFUSED", detail: "refused" } as const;
const SOON = { kind: "later", state: "unreachable" };

test.each<[string, (result: Failed) => object, Failed, object]>([
  ["renewal", judgeRenewal, refused(401, "proof_invalid"), { kind: "refused", state: "unenrolled" }],
  ["renewal", judgeRenewal, refused(403, "installation_frozen"), { kind: "refused", state: "frozen" }],
  ["renewal", judgeRenewal, refused(403, "recovery_window_over"), { kind: "refused", state: "lapsed" }],
  ["renewal", judgeRenewal, refused(403, "recovery_budget_spent"), { kind: "refused", state: "lapsed" }],
  ["renewal", judgeRenewal, refusedByProxy(401), SOON],
  ["renewal", judgeRenewal, refusedByProxy(403), SOON],
  ["renewal", judgeRenewal, refused(409, "nonce_used"), { kind: "later", state: null }],
  ["renewal", judgeRenewal, refused(429, undefined, 7000), { ...SOON, retryAfterMs: 7000 }],
  ["renewal", judgeRenewal, refused(503), SOON],
  ["renewal", judgeRenewal, refused(422), { kind: "later", state: "rejected" }],
  ["renewal", judgeRenewal, UNREACHABLE, SOON],
  ["heartbeat", judgeHeartbeat, refused(401, "credential_expired"), { kind: "doubted" }],
  ["heartbeat", judgeHeartbeat, refused(403, "installation_frozen"), { kind: "refused", state: "frozen" }],
  ["heartbeat", judgeHeartbeat, refused(403, "scope"), { kind: "later", state: "unauthorized" }],
  ["heartbeat", judgeHeartbeat, { ...refusedByProxy(401), isWebPage: true }, SOON],
  ["heartbeat", judgeHeartbeat, refused(404), { kind: "later", state: "misconfigured" }],
  ["heartbeat", judgeHeartbeat, refused(500), SOON],
  ["poll", judgePoll, refused(404), { kind: "over" }],
  ["poll", judgePoll, refusedByProxy(404), SOON],
  ["poll", judgePoll, refusedByProxy(400), SOON],
  ["poll", judgePoll, refused(422), SOON],
  ["poll", judgePoll, refused(502), SOON],
  ["start", later, refused(403, "uses_spent"), { kind: "later", state: "unauthorized" }],
  ["start", later, refused(404), { kind: "later", state: "misconfigured" }],
  ["start", later, refused(429, undefined, 1000), { ...SOON, retryAfterMs: 1000 }],
])("%s: %$ %j", (_what, judge, result, expected) => {
  expect(judge(result)).toMatchObject(expected);
});
