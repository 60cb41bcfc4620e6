import { describe, expect, test } from "vitest";

import { judge } from "../../../src/agent/outcome.ts";
import type { RobotView } from "../../../src/api/robot-views.ts";
import type { CallResult } from "../../../src/client/call-result.ts";
import { createBackoff } from "../../../src/platform/retry.ts";

const NOW_MS = 1_000_000;
const MINUTE_MS = 60_000;
const body = { name: "arm-7", robot_type_id: "t", region: "r", configuration_digest: `sha256:${"a".repeat(64)}` };
const robot: RobotView = {
  id: "rob_1",
  name: "arm-7",
  robot_type_id: "t",
  region: "r",
  created_at: "",
  site: null,
  labels: {},
};

type Result = CallResult<{ robot: RobotView }>;
const refused = (status: number, retryAfterMs: number | null = null) =>
  ({ kind: "refused", status, detail: "no", validation: null, retryAfterMs, request_id: null }) as const;
const page = (status: number) => ({ ...refused(status), isWebPage: true }) as const;

/** Judges with the mean jitter. */
function judged(result: Result, wallMs = Date.now()) {
  const random = { unit: () => 0.5, bytes: () => new Uint8Array() };
  return judge(result, {
    body,
    route: "",
    credentialVersion: "",
    nowMs: NOW_MS,
    wallMs,
    backoff: createBackoff({ firstMs: 1000, capMs: 5 * MINUTE_MS, random }),
    unitRandom: random.unit,
  });
}

/** First backoff delay: half a second to a second. */
const soon = [500, 1000] as const;
const minutes = (count: number) => [count * MINUTE_MS, count * MINUTE_MS] as const;

test("judge: unknown authority → the configuration key for a CA file", () => {
  const result: Result = { kind: "unreachable", reason: "tls", code: "SELF_SIGNED_CERT_IN_CHAIN", detail: "no trust" };
  expect(judged(result)).toMatchObject({ failure: { detail: expect.stringContaining("service.ca_file") } });
});

const failures: readonly [string, Result, state: string, reason: string, delay_ms: readonly [number, number]][] = [
  [
    "scenario 2: 200 with an undecodable body",
    { kind: "undecodable", status: 200, detail: "HTML" },
    "unreachable",
    "undecodable",
    soon,
  ],
  ["302", { kind: "undecodable", status: 302, detail: "redirect" }, "unreachable", "undecodable", soon],
  [
    "200 about another robot",
    { kind: "ok", status: 200, value: { robot: { ...robot, name: "arm-8" } } },
    "unreachable",
    "foreign-answer",
    soon,
  ],
  ["dead DNS", { kind: "unreachable", reason: "dns", code: "ENOTFOUND", detail: "" }, "unreachable", "dns", soon],
  ["timeout", { kind: "unreachable", reason: "timeout", code: null, detail: "" }, "unreachable", "timeout", soon],
  ["408", refused(408), "unreachable", "http-408", soon],
  ["425", refused(425), "unreachable", "http-425", soon],
  ["429", refused(429), "unreachable", "http-429", soon],
  ["500", refused(500), "unreachable", "http-500", soon],
  ["599", refused(599), "unreachable", "http-599", soon],
  ["scenario 6: 503 with Retry-After", refused(503, 30_000), "unreachable", "http-503", [30_500, 31_000]],
  [
    "scenario 6: absurd Retry-After",
    refused(429, 10 ** 12),
    "unreachable",
    "http-429",
    [60 * MINUTE_MS, 60 * MINUTE_MS],
  ],
  ["scenario 7: 401", refused(401), "unauthorized", "http-401", minutes(5)],
  ["scenario 7: 403", refused(403), "unauthorized", "http-403", minutes(5)],
  [
    "no key",
    {
      kind: "no-credential",
      problem: { kind: "credential-problem", code: "key-missing", what: "", where: "", fix: "" },
    },
    "unauthorized",
    "no-credential",
    minutes(5),
  ],
  [
    "not enrolled",
    {
      kind: "no-credential",
      problem: { kind: "credential-problem", code: "not-enrolled", what: "", where: "", fix: "" },
    },
    "unauthorized",
    "not-enrolled",
    minutes(5),
  ],
  ["scenario 2: the login page of a network", page(401), "unreachable", "http-401", soon],
  ["scenario 2: the page of a firewall", page(403), "unreachable", "http-403", soon],
  ["scenario 2: a page of a gateway", page(400), "unreachable", "http-400", soon],
  ["scenario 11: a proxy on the way, which no setting names", refused(407), "unreachable", "http-407", soon],
  ["a gateway that takes less", page(413), "rejected", "http-413", minutes(60)],
  ["scenario 2: another program at the address", page(404), "misconfigured", "http-404", minutes(5)],
  ["404", refused(404), "misconfigured", "http-404", minutes(5)],
  ["405", refused(405), "misconfigured", "http-405", minutes(5)],
  ["409", refused(409), "conflict", "http-409", minutes(60)],
  ["scenario 8: 422", refused(422), "rejected", "http-422", minutes(60)],
  ["scenario 8: 400", refused(400), "rejected", "http-400", minutes(60)],
  ["413", refused(413), "rejected", "http-413", minutes(60)],
];

describe("judge", () => {
  test("200 with a robot of our name → registered", () => {
    expect(judged({ kind: "ok", status: 200, value: { robot } })).toEqual({ kind: "registered", robot });
  });

  test.each(failures)("%s", (_name, result, state, reason, [leastMs, mostMs]) => {
    const attempt = judged(result);
    if (attempt.kind !== "failed") throw new Error("recorded as success");
    expect(attempt.failure).toMatchObject({ state, reason });
    const delayMs = attempt.failure.retryAtMs - NOW_MS;
    expect(delayMs).toBeGreaterThanOrEqual(leastMs);
    expect(delayMs).toBeLessThanOrEqual(mostMs);
  });

  test.each(["CA_FILE_MISSING", "ERR_SSL_WRONG_VERSION_NUMBER"])(
    "scenario 3: %s with the clock at 1970, which setting the clock does not mend → said as it is",
    (code) => {
      const result: Result = { kind: "unreachable", reason: "tls", code, detail: "why" };
      expect(judged(result, 0)).toMatchObject({ failure: { reason: "tls", detail: "why" } });
    },
  );

  test.each(["tls", "proxy"] as const)(
    "scenario 3: certificate refused with the clock at 1970: %s → clock",
    (reason) => {
      const refusedCertificate: Result = { kind: "unreachable", reason, code: "CERT_NOT_YET_VALID", detail: "x" };
      expect(judged(refusedCertificate, 0)).toMatchObject({
        failure: { state: "unreachable", reason: "clock", detail: expect.stringContaining("1970-01-01") },
      });
      expect(judged(refusedCertificate)).toMatchObject({ failure: { reason } });
    },
  );
});
