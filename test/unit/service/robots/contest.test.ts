import { describe, expect, it } from "vitest";

import {
  type Contest,
  CONTEST_WINDOW_MS,
  contestShownBy,
  currentContest,
  registrationDetails,
  sourcesSince,
} from "../../../../src/service/robots/history.ts";

const START_MS = Date.parse("2026-03-01T00:00:00.000Z");
const HOUR_MS = 3_600_000;

/** `A@x` is configuration A from computer x; entries are `everyMs` apart. Each registration is as `one` says. */
function play(story: string, everyMs = HOUR_MS, one = registrationOf) {
  let contest: Contest | null = null;
  const registrations: ReturnType<typeof registrationOf>[] = [];
  for (const [index, step] of story.split(" ").entries()) {
    const registration = one(step, START_MS + index * everyMs, index);
    const robot: Parameters<typeof contestShownBy>[2] = {
      contested_since: contest?.since ?? null,
      contested_at: contest?.at ?? null,
    };
    contest = contestShownBy(registration, registrations, robot) ?? contest;
    registrations.unshift(registration);
  }
  return { contest, registrations };
}

function registrationOf(step: string, atMs: number, _index?: number) {
  const [digest = "", source = ""] = step.split("@");
  const parts = { name: "r", robot_type_id: "t", region: "r", site: null, labels: "{}", contract: null };
  const details = { ...registrationDetails({ ...parts, configuration_digest: digest }), address: source };
  return { at: new Date(atMs).toISOString(), actor: "key_1", details };
}

describe("contestShownBy: contested name", () => {
  it.each([
    ["when a computer restores what another replaced", "A@x B@y A@x", 1],
    ["after earlier changes of either", "C@x A@x B@y A@x", 2],
    ["among three computers", "A@x B@y C@z A@x", 1],
    ["among as many as are kept", "A@a B@b C@c D@d E@e F@f G@g A@a", 1],
    ["when two computers behind one address alternate", "A@x B@x A@x B@x", 2],
    ["when three computers behind one address alternate", "A@x B@x C@x A@x B@x", 2],
  ])("%s: %s", (_what, story, disturbed) => {
    const { contest } = play(story);
    expect(contest?.since).toBe(new Date(START_MS + disturbed * HOUR_MS).toISOString());
  });

  it.each([
    ["a first registration", "A@x"],
    ["one change after the other", "A@x B@x C@x D@x"],
    ["changes from two computers, each only forward", "A@x B@y C@x D@y"],
    ["a reverted calibration", "A@x B@x A@x"],
    ["a change reverted from a new address", "A@x B@x A@y"],
    ["replacement by another computer", "A@x B@y"],
    ["replacement by another computer that continues to change", "A@x B@y C@y D@y"],
  ])("but not by %s: %s", (_what, story) => {
    expect(play(story).contest).toBeNull();
  });

  it("from the same address with another key", () => {
    const { contest } = play("A@x B@x A@x", HOUR_MS, (step, atMs, index) => {
      return { ...registrationOf(step, atMs), actor: index === 1 ? "key_2" : "key_1" };
    });
    expect(contest?.since).toBe(new Date(START_MS + HOUR_MS).toISOString());
  });

  it("by two agents that each check once a day, a tenth late", () => {
    const eachMs = (1.1 * 24 * HOUR_MS) / 2;
    expect(play("A@x B@y A@x", eachMs).contest?.since).toBe(new Date(START_MS + eachMs).toISOString());
  });

  it("not by changes further apart than the window", () => {
    expect(play("A@x B@y A@x", CONTEST_WINDOW_MS).contest).toBeNull();
  });
});

describe("contestShownBy", () => {
  it("continued contest → its start stays", () => {
    expect(play("A@x B@y A@x B@y A@x").contest).toEqual({
      since: new Date(START_MS + HOUR_MS).toISOString(),
      at: new Date(START_MS + 4 * HOUR_MS).toISOString(),
    });
  });

  it("change of something else → the contest continues", () => {
    expect(play("A@x B@y A@x C@x").contest).toEqual(play("A@x B@y A@x").contest);
  });
});

describe("currentContest", () => {
  const contest = { since: "2026-03-01T00:00:00.000Z", at: "2026-03-02T00:00:00.000Z" };
  const atMs = Date.parse(contest.at);

  it.each([
    ["now", atMs, contest],
    ["at the end of the window", atMs + CONTEST_WINDOW_MS - 1, contest],
    ["after it", atMs + CONTEST_WINDOW_MS, null],
    ["after a clock that was far ahead is corrected", atMs - CONTEST_WINDOW_MS, null],
  ])("%s", (_when, nowMs, expected) => {
    const robot: Parameters<typeof contestShownBy>[2] = { contested_since: contest.since, contested_at: contest.at };
    expect(currentContest(robot, nowMs)).toEqual(expected);
  });
});

describe("sourcesSince", () => {
  it("contest → each source once, the newest first, none from before it", () => {
    const { registrations, contest } = play("D@w A@x B@y C@z A@x");
    const addresses = sourcesSince(contest?.since ?? "", registrations).map(({ details }) => details.address);
    expect(addresses).toEqual(["x", "z", "y"]);
  });
});
