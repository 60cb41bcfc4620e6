import { describe, expect, it } from "vitest";

import { times } from "../../support/run/tier.ts";
import { createRobot, settledRobot } from "../robot.ts";
import { simulatedMinutes } from "../units.ts";
import { FAIR, type Weather } from "../weather.ts";
import { FILES, PLACES, put } from "./robot-files.ts";

const DOWN: Weather = { kind: "unreachable", reason: "dns", code: "ENOTFOUND" };
const json = { "content-type": "application/json" };

function answers(status: number, detail: unknown, headers: Readonly<Record<string, string>> = {}): Weather {
  return { kind: "answers", status, headers: { ...json, ...headers }, body: JSON.stringify({ detail }) };
}

describe("an agent with network faults", () => {
  it("scenario 1: no network → ready, and registered within one backoff step of its return", async () => {
    const robot = await createRobot(1);
    const { world } = robot;
    world.network.weather = () => DOWN;
    world.start();
    await world.runUntil(() => world.daemon?.statusText === "Starting", 1000);
    expect(world.daemon?.statusText).toBe("Starting");
    expect(await robot.reach("unreachable")).toBe(true);
    await world.runFor(simulatedMinutes(30));
    const nextAttemptMs = Date.parse(robot.status().failure?.next_attempt_at ?? "") - world.wall.wall_ms();
    world.network.weather = () => FAIR;
    expect(await robot.reach("registered", nextAttemptMs + 1000)).toBe(true);
    expect(nextAttemptMs).toBeLessThanOrEqual(simulatedMinutes(5));
  });

  it.each<readonly [string, Weather]>([
    ["dead DNS", DOWN],
    ["a port that drops", { kind: "hangs", arrives: false }],
    [
      "a captive portal",
      { kind: "answers", status: 200, headers: { "content-type": "text/html" }, body: "<html>Please accept</html>" },
    ],
    ["a redirect", { kind: "answers", status: 302, headers: { location: "https://portal.example/" }, body: "" }],
    [
      "another robot's answer",
      {
        kind: "answers",
        status: 200,
        headers: json,
        body: '{"robot":{"id":"rob_9","name":"else","robot_type_id":"t","region":"r","created_at":"now"}}',
      },
    ],
  ])("scenario 2: %s → retried, never taken for success", async (_name, weather) => {
    const robot = await createRobot(2);
    const { world } = robot;
    world.network.weather = () => weather;
    world.start();
    expect(await robot.reach("unreachable")).toBe(true);
    await world.runFor(simulatedMinutes(60));
    expect(world.disk.exists(PLACES.registration)).toBe(false);
    expect(robot.status().registration).toBeNull();
    expect(world.counts.posts).toBeGreaterThan(8);
    world.network.weather = () => FAIR;
    expect(await robot.reach("registered", simulatedMinutes(6))).toBe(true);
  });

  it("scenario 3: clock at 1970 → the handshake fails until the clock is correct", async () => {
    const robot = await createRobot(3);
    const { world } = robot;
    world.wall.set(-world.wall.trueMs());
    world.start();
    expect(await robot.reach("unreachable")).toBe(true);
    expect(robot.robots()).toBe(0);
    await world.runFor(simulatedMinutes(10));
    world.wall.set(0);
    expect(await robot.reach("registered", simulatedMinutes(6))).toBe(true);
  });

  it.each([10, -10])("scenario 4: clock step of %i years during a wait → neither burst nor stall", async (years) => {
    const robot = await createRobot(4);
    const { world } = robot;
    world.network.weather = () => DOWN;
    world.start();
    expect(await robot.reach("unreachable")).toBe(true);
    await world.runFor(simulatedMinutes(20));
    const posts = world.counts.posts;
    world.wall.set(years * 365 * 24 * 60 * 60_000);
    await world.runFor(simulatedMinutes(30));
    const inHalfAnHour = world.counts.posts - posts;
    expect(inHalfAnHour).toBeGreaterThanOrEqual(6);
    expect(inHalfAnHour).toBeLessThanOrEqual(40);
    world.wall.set(0);
    world.network.weather = () => FAIR;
    expect(await robot.reach("registered", simulatedMinutes(6))).toBe(true);
  });

  it.each<readonly [string, string, number, number]>([
    ["seconds", "90", 90, 90 + 300],
    ["a date", "DATE+120", 119, 120 + 300],
    ["an absurd number", "99999999999", 3600, 3600],
    ["a negative number", "-5", 0.5, 300],
    ["a word", "soon", 0.5, 300],
  ])("scenario 6: Retry-After as %s → honoured within bounds", async (_form, value, minimumS, maximumS) => {
    const robot = await createRobot(6);
    const { world } = robot;
    world.network.weather = () => {
      const date = new Date(world.wall.trueMs());
      const retryAfter = value.startsWith("DATE") ? new Date(world.wall.trueMs() + 120_000).toUTCString() : value;
      return answers(503, "Busy", { "retry-after": retryAfter, date: date.toUTCString() });
    };
    world.start();
    expect(await robot.reach("unreachable")).toBe(true);
    const beganMs = world.scheduler.nowMs;
    await world.runUntil(() => world.counts.posts === 2, simulatedMinutes(120));
    const waitedS = (world.scheduler.nowMs - beganMs) / 1000;
    expect(waitedS).toBeGreaterThanOrEqual(minimumS - 1);
    expect(waitedS).toBeLessThanOrEqual(maximumS + 1);
  });

  it("scenario 7: refused key → reported, retried slowly, replaced without a restart", async () => {
    const robot = await createRobot(7);
    const { world } = robot;
    const goodKey = world.service.key;
    world.service.key = "sk_sim_CANARYother000000000000";
    world.start();
    expect(await robot.reach("unauthorized")).toBe(true);
    await world.runFor(simulatedMinutes(30));
    expect(world.counts.posts).toBeLessThanOrEqual(8);
    const posts = world.counts.posts;
    put(world.disk, PLACES.key, `${world.service.key}\n`);
    expect(await robot.reach("registered", 2000)).toBe(true);
    expect(world.counts.posts).toBe(posts + 1);
    expect(goodKey).not.toBe(world.service.key);
  });

  it("scenario 8: 422 → not repeated before something changes", async () => {
    const robot = await createRobot(8);
    const { world } = robot;
    world.network.weather = () =>
      answers(422, [{ loc: ["body", "region"], msg: "Unknown region", type: "value_error" }]);
    world.start();
    expect(await robot.reach("rejected")).toBe(true);
    await world.runFor(simulatedMinutes(50));
    expect(world.counts.posts).toBe(1);
    expect(robot.status().findings.map(({ id, file }) => [id, file])).toEqual([["rejected", PLACES.configuration]]);
    world.network.weather = () => FAIR;
    robot.edit(2);
    expect(await robot.reach("registered", 2000)).toBe(true);
  });

  it("scenario 8: flapping files that the service refuses → no hot loop", async () => {
    const robot = await settledRobot(8);
    const { world } = robot;
    world.network.weather = () =>
      answers(422, [{ loc: ["body", "configuration_digest"], msg: "Unknown", type: "value_error" }]);
    const posts = world.counts.posts;
    for (let version = 1; version <= 100; version += 1) {
      robot.edit(2 + (version % 4));
      await world.runFor(700);
    }
    expect(world.counts.posts - posts).toBeLessThanOrEqual(3 + 4);
  });

  it.each<readonly [string, Weather]>([
    ["lost", { kind: "answer-lost" }],
    ["late beyond the limit", { kind: "hangs", arrives: true }],
  ])("scenario 9: answer %s → one robot, not two", async (_what, weather) => {
    const robot = await createRobot(9);
    const { world } = robot;
    world.network.weather = () => weather;
    world.start();
    expect(await robot.reach("unreachable")).toBe(true);
    expect(robot.robots()).toBe(1);
    world.network.weather = () => FAIR;
    expect(await robot.reach("registered")).toBe(true);
    expect(robot.robots()).toBe(1);
  });

  it("scenario 9: change accepted with a lost answer, then reverted → reverted at the service, too", async () => {
    const robot = await settledRobot(9);
    const { world } = robot;
    const registered = robot.held();
    world.network.weather = () => ({ kind: "hangs", arrives: true });
    robot.edit(2);
    await world.runFor(5000);
    expect(robot.held()).not.toBe(registered);
    world.network.weather = () => FAIR;
    robot.edit(1);
    await world.runFor(simulatedMinutes(10));
    expect(robot.held()).toBe(registered);
  });

  it("scenario 9: the same with kill -9 during the request", async () => {
    const robot = await settledRobot(9);
    const { world } = robot;
    const registered = robot.held();
    world.supervised = false;
    world.network.weather = () => ({ kind: "hangs", arrives: true });
    robot.edit(2);
    await world.runFor(5000);
    expect(robot.held()).not.toBe(registered);
    world.kill();
    world.network.weather = () => FAIR;
    robot.edit(1);
    await world.runFor(60_000);
    await robot.settle();
    expect(robot.held()).toBe(registered);
  });

  it("scenario 9: the same with a power cut when the request leaves", async () => {
    const robot = await settledRobot(9);
    const { world } = robot;
    const registered = robot.held();
    world.supervised = false;
    world.watchedBy({
      onRequest() {
        if (world.counts.power_cuts === 0) world.powerCut();
      },
    });
    robot.edit(2);
    await world.runFor(5000);
    expect(robot.held()).not.toBe(registered);
    robot.edit(1);
    await world.runFor(60_000);
    await robot.settle();
    expect(robot.held()).toBe(registered);
  });

  it("scenario 10: conflict → reported, not overwritten", async () => {
    const robot = await createRobot(10);
    const { world } = robot;
    world.network.weather = () => answers(409, "The name belongs to another robot");
    world.start();
    expect(await robot.reach("conflict")).toBe(true);
    await world.runFor(simulatedMinutes(50));
    expect(world.counts.posts).toBe(1);
  });

  it("scenario 36: a day offline → a handful of log lines and no write", async () => {
    const robot = await settledRobot(36);
    const { world } = robot;
    world.network.weather = () => DOWN;
    robot.edit(2, FILES.calibration);
    expect(await robot.reach("unreachable")).toBe(true);
    const before = { ...world.counts };
    await world.runFor(simulatedMinutes(24 * 60));
    expect(world.counts.log_lines - before.log_lines).toBeLessThanOrEqual(2);
    expect(world.counts.writes - before.writes).toBe(0);
    expect(world.counts.posts - before.posts).toBeGreaterThan(300);
  });
});

describe("a fleet", () => {
  it("scenario 5: robots that failed together → retries are spread", async () => {
    const ROBOTS = times(60, 500);
    // Waits reach their cap of five minutes within ten minutes.
    const OUTAGE_MS = simulatedMinutes(15);
    const returnsS: number[] = [];
    for (let seed = 1; seed <= ROBOTS; seed += 1) {
      const robot = await createRobot(seed);
      const { world } = robot;
      world.network.weather = () => DOWN;
      world.start();
      await world.runFor(OUTAGE_MS);
      const endMs = world.scheduler.nowMs;
      world.network.weather = () => FAIR;
      expect(await robot.reach("registered", simulatedMinutes(6))).toBe(true);
      returnsS.push((world.scheduler.nowMs - endMs) / 1000);
      world.supervised = false;
      world.kill();
    }
    const perTenSeconds = Array.from(
      { length: 30 },
      (_, index) => returnsS.filter((atS) => Math.floor(atS / 10) === index).length,
    );
    // An even spread puts a thirtieth of them into each bucket.
    expect(Math.max(...perTenSeconds)).toBeLessThan(0.14 * ROBOTS);
    expect(Math.max(...returnsS)).toBeLessThanOrEqual(301);
  });
});
