import { describe, expect, it } from "vitest";

import {
  type Change,
  CHANGES_KEPT,
  CONTEST_WINDOW_MS,
  currentContest,
  noteChange,
  type RecentChanges,
  sourcesSince,
} from "../../../../src/service/robots/history/contest.ts";

const START_MS = Date.parse("2026-03-01T00:00:00.000Z");
const HOUR_MS = 3_600_000;
const NOTHING: RecentChanges = { changes: [], contest: null };

/** `A@x` is body A from computer x; entries are `everyMs` apart. */
function play(story: string, everyMs = HOUR_MS, from = NOTHING): RecentChanges {
  return story
    .split(" ")
    .filter((step) => step !== "")
    .reduce((recent, step, index) => noteChange(recent, changeOf(step, START_MS + index * everyMs)), from);
}

function changeOf(step: string, atMs: number): Change {
  const [body = "", source = ""] = step.split("@");
  return { at: new Date(atMs).toISOString(), body, address: `10.0.0.${source.charCodeAt(0)}`, actor: "key_1" };
}

describe("noteChange: contested name", () => {
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
    const [first, second] = [changeOf("A@x", START_MS), { ...changeOf("B@x", START_MS + 1), actor: "key_2" }];
    const third = changeOf("A@x", START_MS + 2);
    expect([first, second, third].reduce(noteChange, NOTHING).contest).toEqual({ since: second.at, at: third.at });
  });

  it("by two agents that each check once a day, a tenth late", () => {
    const eachMs = (1.1 * 24 * HOUR_MS) / 2;
    expect(play("A@x B@y A@x", eachMs).contest?.since).toBe(new Date(START_MS + eachMs).toISOString());
  });

  it("not by changes further apart than the window", () => {
    expect(play("A@x B@y A@x", CONTEST_WINDOW_MS).contest).toBeNull();
  });
});

describe("noteChange", () => {
  it("continued contest → its start stays", () => {
    expect(play("A@x B@y A@x B@y A@x").contest).toEqual({
      since: new Date(START_MS + HOUR_MS).toISOString(),
      at: new Date(START_MS + 4 * HOUR_MS).toISOString(),
    });
  });

  it("change of something else → the contest continues", () => {
    expect(play("A@x B@y A@x C@x").contest).toEqual(play("A@x B@y A@x").contest);
  });

  it("registration without a change → ignored", () => {
    expect(play("A@x A@y")).toEqual(play("A@x"));
  });

  it("many changes → bounded", () => {
    expect(play("A@x B@x C@x D@x E@x F@x G@x H@x I@x J@x").changes).toHaveLength(CHANGES_KEPT);
    expect(play("A@x B@x", CONTEST_WINDOW_MS).changes).toHaveLength(1);
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
    expect(currentContest(contest, nowMs)).toEqual(expected);
  });
});

describe("sourcesSince", () => {
  it("contest → each source once, the newest first, none from before it", () => {
    const { changes, contest } = play("D@w A@x B@y C@z A@x");
    const addresses = sourcesSince(contest?.since ?? "", changes).map(({ address }) => address);
    expect(addresses).toEqual(["10.0.0.120", "10.0.0.122", "10.0.0.121"]);
  });
});
