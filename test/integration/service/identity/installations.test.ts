import { expect, it } from "vitest";

import { heartbeatAcceptedSchema } from "../../../../src/api/installations.ts";
import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import type { IdentitySettings } from "../../../../src/service/identity/installations.ts";
import type { StoreLocation } from "../../../../src/service/kernel/store/store.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { testService } from "../../../support/service/test-service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** A service with one enrolled robot, and a clock that only tests advance. */
async function scene(store: StoreLocation | undefined, identity: Partial<IdentitySettings> = {}) {
  const beginMs = systemClock.wallMs();
  let aheadMs = 0;
  let setBackMs = 0;
  const clock: Clock = {
    ...systemClock,
    wallMs: () => beginMs + aheadMs - setBackMs,
    monotonicMs: () => aheadMs,
  };
  const running = await testService({ store, clock, configuration: { identity } });
  const robot = new RobotComputer(() => running.url);
  const started = await robot.start();
  expect((await running.send("POST", "/v1/robots/approve", { user_code: started.user_code })).status).toBe(200);
  expect(await robot.poll(started)).toMatchObject({ status: "approved" });
  return {
    running,
    robot,
    advance: (ms: number) => void (aheadMs += ms),
    /** Corrects a wall clock that was ahead. */
    setBack: (ms: number) => void (setBackMs += ms),
    installation: async () => (await running.send("GET", "/v1/robots/arm-1/installation")).json(),
    change: (body: object) => running.send("PATCH", "/v1/robots/arm-1/installation", body),
    audit: async () => {
      const { items } = (await (await running.send("GET", "/v1/me/audit")).json()) as { items: { action: string }[] };
      return items.map(({ action }) => action).filter((action) => action.startsWith("installation."));
    },
  };
}

async function outcomeOf(answer: Response): Promise<unknown> {
  const body = (await answer.json()) as { reason?: string };
  return answer.ok ? answer.status : [answer.status, body.reason];
}

describeOnEachStore("installation of a robot", (newStore) => {
  it("replaced after the clock was set back → the view and its changes are of the live one, whose id is older", async () => {
    const { running, robot, setBack, installation, change } = await scene(await newStore());
    setBack(HOUR_MS);
    const next = new RobotComputer(() => running.url);
    const started = await next.start();
    const approval = { user_code: started.user_code, confirm_replace: true };
    expect((await running.send("POST", "/v1/robots/approve", approval)).status).toBe(200);
    await next.poll(started);
    expect(next.installationId < robot.installationId).toBe(true);
    expect(await installation()).toMatchObject({ installation_id: next.installationId, state: "active" });
    expect((await change({ recoveries_remaining: 9 })).status).toBe(200);
  });
});

describeOnEachStore("credential of a robot", (newStore) => {
  it("heartbeats → renewal and expiry stay at fixed times, and the report is shown", async () => {
    const { robot, advance, installation } = await scene(await newStore());
    const first = heartbeatAcceptedSchema.parse(await (await robot.heartbeat({ runtime_version: "1.2.3" })).json());
    advance(HOUR_MS);
    const answer = await robot.heartbeat({ readiness: "not_ready", reason: "no calibration" });
    const second = heartbeatAcceptedSchema.parse(await answer.json());
    const { renew_after_s: before, credential_expires_at: expiresAt } = first;
    const { renew_after_s: after } = second;
    expect(second).toMatchObject({
      credential_expires_at: expiresAt,
      generation: 1,
      installation_id: robot.installationId,
    });
    expect(before - after).toBeGreaterThanOrEqual(3600);
    expect(before).toBeGreaterThan(12 * 3600 - 10);
    expect(before).toBeLessThanOrEqual(0.7 * 24 * 3600);
    expect(await installation()).toMatchObject({
      readiness: "not_ready",
      reason: "no calibration",
      runtime_version: "1.2.3",
      state: "active",
    });
    advance(22 * HOUR_MS);
    expect(await (await robot.heartbeat()).json()).toMatchObject({
      renew_after_s: 0,
      credential_expires_at: expiresAt,
    });
  });

  it.each([
    ["not_ready without a reason", { readiness: "not_ready" }],
    ["not_ready with an empty reason", { readiness: "not_ready", reason: "" }],
    ["ready with a reason", { readiness: "ready", reason: "x" }],
    ["ready with an empty reason", { readiness: "ready", reason: "" }],
  ] as const)("heartbeat: %s → 422 at body", async (_title, beat) => {
    const { robot } = await scene(await newStore());
    const answer = await robot.heartbeat(beat);
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({
      detail: [
        { loc: ["body"], type: "value_error", msg: expect.stringMatching(/^Value error, /), ctx: { error: {} } },
      ],
    });
  });

  it("requests for its own robot → allowed; for others, or for other resources → 403 or 404", async () => {
    const { robot, running } = await scene(await newStore());
    const setup = {
      name: "arm-1",
      robot_type_id: "t",
      region: "us-west-2",
      configuration_digest: `sha256:${"0".repeat(64)}`,
    };
    await running.send("POST", "/v1/robots/setup", { ...setup, name: "arm-2" });
    const ask = async (method: string, path: string, body?: object) => {
      const answer = await fetch(running.url + path, {
        method,
        headers: { authorization: `Bearer ${robot.token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return outcomeOf(answer);
    };
    expect(await ask("POST", "/v1/robots/setup", setup)).toBe(200);
    expect(await ask("GET", "/v1/robots/arm-1")).toBe(200);
    expect(await ask("GET", "/v1/robots/arm-1/registration")).toBe(200);
    expect(await ask("POST", "/v1/robots/setup", { ...setup, name: "arm-2" })).toEqual([403, "scope"]);
    expect(await ask("POST", "/v1/robots/setup", { ...setup, name: "arm-3" })).toEqual([403, "scope"]);
    expect(await ask("GET", "/v1/robots/arm-2")).toEqual([404, undefined]);
    expect(await ask("GET", "/v1/robots/arm-2/registration")).toEqual([404, undefined]);
    for (const path of [
      "/v1/robots",
      "/v1/fleets",
      "/v1/me/api-keys",
      "/v1/me/session",
      "/v1/me/account",
      "/v1/models/x",
    ]) {
      expect([path, await ask("GET", path)]).toEqual([path, [403, "scope"]]);
    }
    expect(await ask("POST", "/v1/robots/approve", { user_code: "X" })).toEqual([403, "scope"]);
  });

  it("renewal → the previous value works until the new one is used", async () => {
    const { robot } = await scene(await newStore());
    const old = robot.token;
    expect(await robot.renew()).toMatchObject({ generation: 2, recovered: false, recoveries_remaining: 5 });
    expect(await outcomeOf(await robot.heartbeat({}, old))).toBe(200);
    expect(await outcomeOf(await robot.heartbeat())).toBe(200);
    expect(await outcomeOf(await robot.heartbeat({}, old))).toEqual([401, "credential_superseded"]);
  });

  it("renewal → the previous value works for ten minutes", async () => {
    const { robot, advance } = await scene(await newStore());
    const old = robot.token;
    await robot.renew();
    advance(10 * 60_000);
    expect(await outcomeOf(await robot.heartbeat({}, old))).toEqual([401, "credential_superseded"]);
  });

  it("renewals whose answers are lost → values of the same generation, of which the last four work", async () => {
    const { robot } = await scene(await newStore());
    const old = robot.token;
    const values = [];
    for (let count = 0; count < 5; count += 1) {
      const renewed = await robot.renew(old);
      expect(renewed.generation).toBe(2);
      values.push(renewed.installation_token);
    }
    const states = [];
    for (const value of values) states.push(await outcomeOf(await robot.heartbeat({}, value)));
    expect(states.filter((state) => state === 200)).toHaveLength(4);
  });

  it("nonce used again, even after a later renewal → 409; by another robot → accepted", async () => {
    const { robot, running } = await scene(await newStore());
    const nonce = "n".repeat(32);
    expect((await robot.requestRenewal(robot.token, nonce)).status).toBe(200);
    await robot.renew();
    expect(await outcomeOf(await robot.requestRenewal(robot.token, nonce))).toEqual([409, "nonce_used"]);
    const other = new RobotComputer(() => running.url);
    const started = await other.start({ requested_name: "arm-2" });
    await running.send("POST", "/v1/robots/approve", { user_code: started.user_code });
    await other.poll(started);
    expect((await other.requestRenewal(other.token, nonce)).status).toBe(200);
  });

  it("renewals → 60 per hour", async () => {
    const { robot, advance } = await scene(await newStore());
    for (let count = 0; count < 60; count += 1) await robot.renew();
    const refused = await robot.requestRenewal();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    advance(HOUR_MS);
    await robot.renew();
  });

  it.each([
    ["another key", (robot: RobotComputer) => ({ public_key: new RobotComputer(robot.url).publicKey })],
    ["a wrong signature", (robot: RobotComputer) => ({ signature: robot.sign("something else") })],
    ["no signature", () => ({ signature: "x" })],
  ])("renewal with %s → 401 proof_invalid", async (_title, spoil) => {
    const { robot } = await scene(await newStore());
    const body = { public_key: robot.publicKey, nonce: "n".repeat(32), signature: robot.sign("x"), ...spoil(robot) };
    const answer = await robot.send("POST", "/v1/robot-agent/credential/renew", body);
    expect(await outcomeOf(answer)).toEqual([401, "proof_invalid"]);
  });

  it("key copied to a second computer → frozen after one renewal and one heartbeat, until an operator unfreezes it", async () => {
    const { robot, installation, change, audit } = await scene(await newStore());
    await robot.heartbeat();
    const copied = robot.copy();
    // Both continue; the copy renews last.
    await robot.renew();
    await robot.heartbeat();
    expect(await outcomeOf(await copied.heartbeat())).toEqual([401, "credential_superseded"]);
    expect((await copied.renew()).generation).toBe(3);
    expect(await outcomeOf(await copied.heartbeat())).toBe(200);
    expect(await outcomeOf(await robot.heartbeat())).toEqual([403, "installation_frozen"]);
    expect(await outcomeOf(await copied.heartbeat())).toEqual([403, "installation_frozen"]);
    for (const holder of [robot, copied]) {
      expect(await outcomeOf(await holder.requestRenewal())).toEqual([403, "installation_frozen"]);
    }
    expect(await installation()).toMatchObject({ state: "frozen" });
    expect(await audit()).toEqual(["installation.freeze", "installation.renew_out_of_order"]);
    expect((await change({ frozen: false })).status).toBe(200);
    expect(await outcomeOf(await copied.heartbeat())).toBe(200);
    await robot.renew();
    expect(await outcomeOf(await robot.heartbeat())).toBe(200);
  });

  it("copiedKey set to warn, key copied → logged, not frozen", async () => {
    const { robot, running } = await scene(await newStore(), { copiedKey: "warn" });
    const copied = robot.copy();
    await robot.renew();
    await robot.heartbeat();
    await copied.renew();
    await copied.heartbeat();
    expect(await outcomeOf(await robot.heartbeat())).toEqual([401, "credential_superseded"]);
    expect(running.log()).toContain("installation_copied");
    await robot.renew();
    expect(running.log()).not.toContain("installation_frozen");
  });

  it("credential file restored from a backup → renews, is never taken for a copy", async () => {
    const { robot, installation } = await scene(await newStore());
    const restored = robot.token;
    for (let count = 0; count < 3; count += 1) {
      await robot.renew();
      await robot.heartbeat();
    }
    robot.token = restored;
    expect(await outcomeOf(await robot.heartbeat())).toEqual([401, "credential_superseded"]);
    for (let count = 0; count < 3; count += 1) {
      await robot.renew();
      expect(await outcomeOf(await robot.heartbeat())).toBe(200);
    }
    expect(await installation()).toMatchObject({ state: "active", generation: 7 });
  });

  it("off for 60 days → recovers by itself, five times in a row", async () => {
    const { robot, advance, audit, change } = await scene(await newStore());
    for (let left = 4; left >= 0; left -= 1) {
      advance(60 * DAY_MS);
      expect(await outcomeOf(await robot.heartbeat())).toEqual([401, "credential_expired"]);
      expect(await robot.renew()).toMatchObject({ recovered: true, recoveries_remaining: left });
      expect(await outcomeOf(await robot.heartbeat())).toBe(200);
    }
    const nonce = "n".repeat(32);
    expect((await robot.requestRenewal(robot.token, nonce)).status).toBe(200);
    advance(60 * DAY_MS);
    // The renewal before expiry restored the number of recoveries.
    expect((await change({ recoveries_remaining: 0 })).status).toBe(200);
    // An earlier refusal for another reason does not suppress the audit entry.
    expect(await outcomeOf(await robot.requestRenewal(robot.token, nonce))).toEqual([409, "nonce_used"]);
    expect(await outcomeOf(await robot.requestRenewal())).toEqual([403, "recovery_budget_spent"]);
    expect(await outcomeOf(await robot.requestRenewal())).toEqual([403, "recovery_budget_spent"]);
    expect((await audit()).filter((action) => action === "installation.recovery_refused")).toHaveLength(1);
  });

  it("off for more than 90 days → recovers only after an operator allows it", async () => {
    const { robot, advance, change } = await scene(await newStore());
    advance(91 * DAY_MS + 1000);
    expect(await outcomeOf(await robot.requestRenewal())).toEqual([403, "recovery_window_over"]);
    expect((await change({ recoveries_remaining: 101 })).status).toBe(422);
    expect(await (await change({ recoveries_remaining: 2 })).json()).toMatchObject({ recoveries_remaining: 2 });
    expect(await robot.renew()).toMatchObject({ recovered: true, recoveries_remaining: 1 });
    advance(HOUR_MS);
    expect(await robot.renew()).toMatchObject({ recovered: false, recoveries_remaining: 5 });
  });

  it("runs/claim by an existing agent → no run, retry_after_s", async () => {
    const { robot } = await scene(await newStore());
    const claim = (token: string | null) =>
      robot.send("POST", "/v1/robot-agent/runs/claim", { lease_duration_s: 60 }, token);
    expect(await (await claim(robot.token)).json()).toEqual({ run: null, retry_after_s: 10 });
    expect((await claim("rps_robot_something-else")).status).toBe(200);
    expect((await claim(null)).status).toBe(401);
  });

  it("key copied, the original renews → frozen as well", async () => {
    const { robot, installation, audit } = await scene(await newStore());
    const copied = robot.copy();
    await robot.renew();
    await robot.heartbeat();
    await copied.renew();
    await copied.heartbeat();
    expect(await outcomeOf(await robot.requestRenewal())).toEqual([403, "installation_frozen"]);
    expect(await installation()).toMatchObject({ state: "frozen" });
    expect(await audit()).toEqual(["installation.freeze", "installation.renew_out_of_order"]);
    expect(await outcomeOf(await copied.heartbeat())).toEqual([403, "installation_frozen"]);
  });
});
