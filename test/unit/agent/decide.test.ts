import { describe, expect, test } from "vitest";

import { decide, type Decision, type Situation } from "../../../src/agent/decide.ts";
import type { FailureState, Outcome } from "../../../src/agent/outcome.ts";
import type { Registration } from "../../../src/agent/registration/registration.ts";
import type { RobotSetup } from "../../../src/api/robots.ts";

const URL = "https://policy.example";
const body: RobotSetup = {
  name: "arm-7",
  robot_type_id: "yam.bimanual-joint-position.v1",
  region: "eu-central-1",
  configuration_digest: `sha256:${"a".repeat(64)}`,
  site: "hall-2",
  labels: { line: "a", shift: "day" },
};
const otherDigest = { ...body, configuration_digest: `sha256:${"b".repeat(64)}` };

const registration: Registration = {
  service_url: URL,
  machine: "machine-1",
  request: body,
  in_doubt: false,
  files: [],
  robot: {
    id: "rob_1",
    created_at: "2026-01-01T00:00:00Z",
    site: "hall-2",
    labels: {},
    name: "arm-7",
    robot_type_id: "",
    region: "",
  },
  registered_at: "2026-01-01T00:00:00Z",
};

const unregistered: Situation = {
  wanted: { kind: "body", body },
  registration: null,
  lastFailure: null,
  credentialVersion: "key-1",
  machine: "machine-1",
  serviceUrl: URL,
  route: "direct",
  held: null,
  isNameApproved: false,
  sharesOthers: false,
  holdUntilMs: null,
  forced: false,
  rateCappedUntilMs: Number.NEGATIVE_INFINITY,
  nowMs: 1000,
};
const registered: Situation = { ...unregistered, registration };

function failure(state: FailureState, changes: Partial<Outcome> = {}): Outcome {
  return {
    state,
    reason: "test",
    detail: "",
    validation: [],
    credentialRefusal: null,
    retryAtMs: 5000,
    isDelayAsked: false,
    body,
    route: "direct",
    credentialVersion: "key-1",
    ...changes,
  };
}

const register = (sent: RobotSetup): Decision => ({ kind: "register", body: sent });
const backoff: Decision = { kind: "wait", untilMs: 5000, reason: "backoff" };
const wants = (changes: Partial<RobotSetup>): Situation["wanted"] => ({ kind: "body", body: { ...body, ...changes } });
const refuse = (reason: Extract<Decision, { kind: "refuse" }>["reason"]): Decision => ({ kind: "refuse", reason });

const cases: readonly [string, Situation, Decision][] = [
  ["never registered → register", unregistered, register(body)],
  ["same body as last registration → nothing", registered, { kind: "nothing" }],
  [
    "scenario 9: same body, but another request may have been taken since → register",
    { ...registered, registration: { ...registration, in_doubt: true } },
    register(body),
  ],
  [
    "same body with members in another order → nothing",
    { ...registered, wanted: wants({ labels: { shift: "day", line: "a" } }) },
    { kind: "nothing" },
  ],
  ["same body, other files shared → register", { ...registered, sharesOthers: true }, register(body)],
  [
    "same body, other files shared, held by a person → wait",
    { ...registered, sharesOthers: true, holdUntilMs: 9000 },
    { kind: "wait", untilMs: 9000, reason: "hold" },
  ],
  ["digest changed → register", { ...registered, wanted: { kind: "body", body: otherDigest } }, register(otherDigest)],
  ["region changed → register", { ...registered, wanted: wants({ region: "x" }) }, register({ ...body, region: "x" })],
  ["site changed → register", { ...registered, wanted: wants({ site: "y" }) }, register({ ...body, site: "y" })],
  [
    "label added → register",
    { ...registered, wanted: wants({ labels: { z: "1" } }) },
    register({ ...body, labels: { z: "1" } }),
  ],
  [
    "contract added → register",
    { ...registered, wanted: wants({ contract: { a: 1 } }) },
    register({ ...body, contract: { a: 1 } }),
  ],
  ["another service → register", { ...registered, serviceUrl: "https://other.example" }, register(body)],
  ["requested by a person → register again", { ...registered, forced: true }, register(body)],
  [
    "held by a person → wait",
    { ...registered, wanted: { kind: "body", body: otherDigest }, holdUntilMs: 9000 },
    { kind: "wait", untilMs: 9000, reason: "hold" },
  ],
  [
    "held by a person, requested by another → wait",
    { ...registered, forced: true, holdUntilMs: 9000 },
    { kind: "wait", untilMs: 9000, reason: "hold" },
  ],
  ["held by a person, nothing changed → nothing", { ...registered, holdUntilMs: 9000 }, { kind: "nothing" }],
  ["invalid input → refuse", { ...registered, wanted: { kind: "invalid" } }, refuse("invalid")],
  [
    "invalid input, requested by a person → refuse",
    { ...registered, wanted: { kind: "invalid" }, forced: true },
    refuse("invalid"),
  ],
  ["draft → refuse", { ...unregistered, wanted: { kind: "draft" } }, refuse("draft")],
  [
    "scenario 13: state of another machine → refuse before any request",
    { ...registered, machine: "machine-2" },
    refuse("other-machine"),
  ],
  [
    "scenario 13: requested by a person on a copied image → refuse",
    { ...registered, machine: "machine-2", forced: true },
    refuse("other-machine"),
  ],
  [
    "scenario 13: copied image with invalid input → reports the copy",
    { ...registered, machine: "machine-2", wanted: { kind: "invalid" } },
    refuse("other-machine"),
  ],
  ["machine without an id → not taken for another one", { ...registered, machine: null }, { kind: "nothing" }],
  ["name changed → refuse, no second robot", { ...registered, wanted: wants({ name: "arm-8" }) }, refuse("other-name")],
  ["unreachable, before its time → wait", { ...unregistered, lastFailure: failure("unreachable") }, backoff],
  [
    "unreachable, input changed → still wait",
    { ...unregistered, wanted: { kind: "body", body: otherDigest }, lastFailure: failure("unreachable") },
    backoff,
  ],
  [
    "unreachable, retry due → register",
    { ...unregistered, lastFailure: failure("unreachable"), nowMs: 5000 },
    register(body),
  ],
  [
    "unreachable, requested by a person → register",
    { ...unregistered, lastFailure: failure("unreachable"), forced: true },
    register(body),
  ],
  [
    "unreachable, another address, proxy or authority configured → register",
    { ...unregistered, lastFailure: failure("unreachable", { route: "through a proxy" }) },
    register(body),
  ],
  ["scenario 7: unauthorized, same key → wait", { ...unregistered, lastFailure: failure("unauthorized") }, backoff],
  [
    "scenario 7: unauthorized, key file changed → register",
    { ...unregistered, lastFailure: failure("unauthorized"), credentialVersion: "key-2" },
    register(body),
  ],
  ["misconfigured → wait, as for unauthorized", { ...unregistered, lastFailure: failure("misconfigured") }, backoff],
  [
    "misconfigured, key file changed → register",
    { ...unregistered, lastFailure: failure("misconfigured"), credentialVersion: "key-2" },
    register(body),
  ],
  ["scenario 8: rejected, same body → wait", { ...unregistered, lastFailure: failure("rejected") }, backoff],
  [
    "scenario 8: rejected, input changed → register",
    { ...unregistered, wanted: { kind: "body", body: otherDigest }, lastFailure: failure("rejected") },
    register(otherDigest),
  ],
  ["conflict, same body → wait", { ...unregistered, lastFailure: failure("conflict") }, backoff],
  [
    "conflict, input changed → register",
    { ...unregistered, wanted: { kind: "body", body: otherDigest }, lastFailure: failure("conflict") },
    register(otherDigest),
  ],
  [
    "failed, then reverted to the registered state → nothing",
    { ...registered, lastFailure: failure("unreachable", { body: otherDigest }) },
    { kind: "nothing" },
  ],
  [
    "scenario 28: rate-capped → wait",
    { ...unregistered, rateCappedUntilMs: 9000 },
    { kind: "wait", untilMs: 9000, reason: "rate-cap" },
  ],
  [
    "scenario 28: rate-capped, requested by a person → register",
    { ...unregistered, rateCappedUntilMs: 9000, forced: true },
    register(body),
  ],
];

describe("decide", () => {
  test.each(cases)("%s", (_name, situation, decision) => {
    expect(decide(situation)).toEqual(decision);
  });
});
