/** A service that loses a registration does not notify the robot: the agent detects it. */
import { describe, expect, it } from "vitest";

import { times } from "../support/run/tier.ts";
import { checkSilence } from "./claims/convergence.ts";
import { HOSTNAME, PLACES, put } from "./machine/robot-files.ts";
import { createRobot, type Robot, settledRobot } from "./robot.ts";
import { simulatedMinutes } from "./units.ts";

/** A day plus jitter. */
const A_DAY_MS = simulatedMinutes(27 * 60);
/** The longest delay of the first question after a start or a registration, plus time for the answer. */
const AFTER_START_MS = simulatedMinutes(12);
/** The same after a power cut. */
const AFTER_POWER_CUT_MS = 10_000;

describe("confirmation of the registration", () => {
  it("run: registered → asks some minutes after a start, then daily, without a write", async () => {
    const robot = await settledRobot(401);
    const { world } = robot;
    world.daemon?.agent?.stop();
    await world.runUntil(() => world.daemon === null, simulatedMinutes(1));
    await robot.reach("registered");
    await world.runFor(simulatedMinutes(3));
    expect(world.counts.questions).toBe(0);
    const before = { ...world.counts };
    await world.runFor(AFTER_START_MS);
    expect(world.counts.questions).toBe(1);
    const days = times(4, 10);
    await world.runFor(days * A_DAY_MS);
    expect(world.counts.questions).toBeGreaterThanOrEqual(days);
    expect(world.counts.questions).toBeLessThanOrEqual(1.4 * days);
    expect(world.counts).toMatchObject({ posts: before.posts, writes: before.writes, log_lines: before.log_lines });
    expect(robot.status().confirmation).toMatchObject({ confirmed_at: expect.any(String), problem: null });
  });

  it.each([
    ["removed by somebody", (robot: Robot) => robot.world.service.remove(HOSTNAME)],
    ["gone with a restored backup from before it", (robot: Robot) => robot.world.service.restore()],
  ])("run: robot %s → registered again within a day", async (_what, lose) => {
    const robot = await settledRobot(402);
    const held = robot.held();
    lose(robot);
    expect(robot.held()).toBeNull();
    expect(await robot.world.runUntil(() => robot.held() === held, A_DAY_MS)).toBe(true);
    expect(robot.status().findings).toEqual([]);
    await checkSilence(robot.world);
  });

  it("run: service restored to an earlier registration → sends the current one, no finding", async () => {
    const robot = await settledRobot(403);
    const { world } = robot;
    world.service.backUp();
    robot.edit(2);
    await robot.settle();
    const held = robot.held();
    world.service.restore();
    expect(robot.held()).not.toBe(held);
    expect(await world.runUntil(() => robot.held() === held, A_DAY_MS)).toBe(true);
    expect(robot.status().findings).toEqual([]);
  });

  it("run: another computer with this name → finding until the registration has stood for a day", async () => {
    const robot = await settledRobot(404);
    const { world } = robot;
    const held = robot.held();
    world.service.usurp(HOSTNAME, world.wall.trueMs());
    expect(await world.runUntil(() => robot.held() === held, A_DAY_MS)).toBe(true);
    await robot.reach("registered");
    const dispute = [{ id: "replaced", severity: "warning", loc: "/robot/name", file: PLACES.configuration }];
    expect(robot.status()).toMatchObject({ healthy: true, findings: dispute });
    await world.runFor(simulatedMinutes(60));
    // The person asked in between, so an hour is not long enough to clear the finding.
    await robot.confirm();
    expect(robot.status().findings).toMatchObject(dispute);
    await world.runFor(A_DAY_MS);
    expect(robot.status().findings).toEqual([]);
  });

  it("run: two computers with this name → noticed minutes after the registration, then registered in turns once a day", async () => {
    const robot = await settledRobot(409);
    const { world } = robot;
    const held = robot.held();
    world.service.usurp(HOSTNAME, world.wall.trueMs());
    expect(await world.runUntil(() => robot.held() === held, AFTER_START_MS)).toBe(true);
    await robot.reach("registered");
    expect(robot.status().findings).toMatchObject([{ id: "replaced" }]);
    world.service.usurp(HOSTNAME, world.wall.trueMs());
    expect(await world.runUntil(() => robot.held() === held, simulatedMinutes(60))).toBe(false);
    expect(await world.runUntil(() => robot.held() === held, A_DAY_MS)).toBe(true);
  });

  it("run: unchanged start without an answer → registered, reports the reason, asks again at a low rate", async () => {
    const robot = await settledRobot(405);
    const { world } = robot;
    world.kill();
    world.network.weather = () => ({ kind: "unreachable", reason: "dns", code: "ENOTFOUND" });
    expect(await robot.reach("registered")).toBe(true);
    const lines = world.counts.log_lines;
    await world.runFor(A_DAY_MS);
    expect(robot.status()).toMatchObject({
      state: "registered",
      healthy: true,
      confirmation: { confirmed_at: null, problem: expect.stringContaining("ENOTFOUND") },
    });
    expect(world.counts.questions).toBeGreaterThan(24);
    expect(world.counts.questions).toBeLessThan(90);
    expect(world.counts.log_lines - lines).toBe(1);
    world.network.weather = () => ({ kind: "fair" });
    await world.runFor(simulatedMinutes(61));
    expect(robot.status().confirmation).toMatchObject({ confirmed_at: expect.any(String), problem: null });
  });

  it("run: revoked key → reported within a day, recovers with another key", async () => {
    const robot = await settledRobot(406);
    const { world } = robot;
    world.service.key = "sk_sim_CANARY0000000000000000002";
    expect(await robot.reach("unauthorized", A_DAY_MS)).toBe(true);
    put(world.disk, PLACES.key, `${world.service.key}\n`);
    expect(await robot.reach("registered")).toBe(true);
  });

  it.each([404, 403, 405])(
    "run: question answered with %i → sends the registration instead, once a day",
    async (status) => {
      const robot = await createRobot(407);
      const { world } = robot;
      world.network.weather = ({ method }) =>
        method === "GET" ? { kind: "answers", status, headers: {}, body: '{"detail":"Not Found"}' } : { kind: "fair" };
      await robot.settle();
      const before = { ...world.counts };
      const days = times(2, 5);
      await world.runFor(days * A_DAY_MS);
      const posts = world.counts.posts - before.posts;
      expect(posts).toBe(world.counts.questions - before.questions);
      expect(posts).toBeGreaterThanOrEqual(days);
      expect(posts).toBeLessThanOrEqual(1.5 * days);
      expect(robot.status()).toMatchObject({ state: "registered", healthy: true, findings: [] });
    },
  );

  it.each(["full", "read-only"] as const)(
    "run: %s disk lost a registration that was later reverted → detected within seconds of the next start",
    async (state) => {
      const robot = await settledRobot(408);
      const { world } = robot;
      const held = robot.held();
      world.disk_trouble.state = state;
      robot.edit(2);
      expect(await world.runUntil(() => robot.held() !== held, simulatedMinutes(1))).toBe(true);
      expect(robot.status().state_problem).toContain("cannot be written");
      world.kill();
      robot.edit(1);
      world.disk_trouble.state = "none";
      await robot.reach("registered");
      expect(await world.runUntil(() => robot.held() === held, AFTER_POWER_CUT_MS)).toBe(true);
      await checkSilence(world);
    },
  );
});
