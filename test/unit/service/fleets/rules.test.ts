import { describe, expect, it } from "vitest";

import { fleetCreateSchema } from "../../../../src/api/fleets.ts";
import { fleetFindings, membershipFindings } from "../../../../src/service/fleets/rules.ts";
import type { Finding } from "../../../../src/service/kernel/validation/finding.ts";

const NOW_MS = Date.parse("2026-06-01T12:00:00Z");

function bodyOf(parts: Readonly<Record<string, unknown>>) {
  return fleetCreateSchema.parse({
    name: "f",
    subject: "pi0.5",
    selection: { robots: ["a", "b"] },
    peak_active_robots: 1,
    readiness_mode: "on_demand",
    ...parts,
  });
}

const shown = (findings: readonly Finding[]) => findings.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`);
const window = (starts: string, ends: string) => ({
  starts_at: `2026-06-${starts}:00Z`,
  ends_at: `2026-06-${ends}:00Z`,
});
const scheduled = (...operatingWindows: readonly unknown[]) => ({
  readiness_mode: "scheduled",
  operating_windows: operatingWindows,
});

describe("fleetFindings", () => {
  it.each<[name: string, parts: Readonly<Record<string, unknown>>, findings: readonly string[]]>([
    ["a fleet of names", {}, []],
    [
      "a duplicate name",
      { selection: { robots: ["a", "b", "a", "a"] } },
      ["selection.robots.2: Value error, names a robot twice", "selection.robots.3: Value error, names a robot twice"],
    ],
    [
      "a selector without a filter",
      { selection: { selector: { site: null, labels: {} } } },
      ["selection.selector: Value error, at least one of site, region, robot_type_id and labels is required"],
    ],
    ["a selector of labels alone", { selection: { selector: { labels: { a: "" } } } }, []],
    [
      "a schedule without windows",
      scheduled(),
      ["operating_windows: Value error, a scheduled fleet needs at least one operating window"],
    ],
    [
      "windows without a schedule",
      { operating_windows: [window("02T10:00", "02T11:00")] },
      ["operating_windows: Value error, only a fleet with readiness_mode scheduled has operating windows"],
    ],
    [
      "an empty window",
      scheduled(window("02T10:00", "02T10:00")),
      ["operating_windows.0.ends_at: Value error, an operating window ends after it starts"],
    ],
    ["windows that touch, in any order", scheduled(window("03T00:00", "04T00:00"), window("02T00:00", "03T00:00")), []],
    [
      "windows that overlap",
      scheduled(window("03T00:00", "05T00:00"), window("04T00:00", "04T01:00"), window("04T23:00", "06T00:00")),
      [
        "operating_windows.1: Value error, overlaps operating window 0",
        "operating_windows.2: Value error, overlaps operating window 0",
      ],
    ],
    [
      "a duplicate window",
      scheduled(window("03T00:00", "05T00:00"), window("03T00:00", "05T00:00")),
      ["operating_windows.1: Value error, overlaps operating window 0"],
    ],
    [
      "all windows past",
      scheduled(window("01T10:00", "01T12:00")),
      ["operating_windows: Value error, all operating windows are past"],
    ],
    ["some windows past, one current", scheduled(window("01T08:00", "01T09:00"), window("01T11:00", "01T13:00")), []],
    [
      "several mistakes, in the order of the members",
      { ...scheduled(), selection: { robots: ["a", "a"] } },
      [
        "selection.robots.1: Value error, names a robot twice",
        "operating_windows: Value error, a scheduled fleet needs at least one operating window",
      ],
    ],
  ])("%s", (_name, parts, findings) => {
    expect(shown(fleetFindings(bodyOf(parts), NOW_MS))).toEqual(findings);
  });
});

describe("membershipFindings", () => {
  it.each<
    [
      name: string,
      parts: Readonly<Record<string, unknown>>,
      robot_ids: readonly (string | null)[],
      findings: readonly string[],
    ]
  >([
    ["everybody known", {}, ["rob_1", "rob_2"], []],
    ["an unknown name", {}, ["rob_1", null], ["selection.robots.1: Value error, no robot has this name or id"]],
    [
      "a robot by its name and its id",
      {},
      ["rob_1", "rob_1"],
      ["selection.robots.1: Value error, names a robot twice"],
    ],
    ["a peak equal to the number of members", { peak_active_robots: 2 }, ["rob_1", "rob_2"], []],
    [
      "a peak above the number of members",
      { peak_active_robots: 3 },
      ["rob_1", "rob_2"],
      ["peak_active_robots: Value error, cannot be more than the robots of the fleet, which are 2"],
    ],
    [
      "a selector that matches no robot",
      { selection: { selector: { site: "x" } } },
      [],
      ["selection.selector: Value error, no robot matches"],
    ],
    [
      "a selector that matches as many robots as a fleet may have",
      { selection: { selector: { site: "x" } } },
      Array.from({ length: 1000 }, (_, index) => `rob_${index}`),
      [],
    ],
    [
      "a selector that matches too many robots",
      { selection: { selector: { site: "x" } } },
      Array.from({ length: 1001 }, (_, index) => `rob_${index}`),
      ["selection.selector: Value error, more than 1000 robots match"],
    ],
  ])("%s", (_name, parts, robotIds, findings) => {
    expect(shown(membershipFindings(bodyOf(parts), robotIds))).toEqual(findings);
  });

  it("finding about a selector → repeats it as sent", () => {
    const selection = { selector: { site: "x", region: null, labels: { a: "b" } } };
    const [finding] = membershipFindings(bodyOf({ selection }), []);
    expect(finding?.input).toEqual(
      new Map<string, unknown>([
        ["site", "x"],
        ["region", null],
        ["labels", new Map([["a", "b"]])],
      ]),
    );
  });
});
