import { describe, expect, it } from "vitest";

import type { FleetNeeds, PreviewedRobot } from "../../../src/api/fleet-details.ts";
import type { FleetView } from "../../../src/api/fleets.ts";
import { fitCounts, fitGroups } from "../../../src/api/words/fit-groups.ts";
import { peakInWords } from "../../../src/api/words/fleets.ts";
import { bodyOf } from "../../../src/console/browser/fleets/draft.ts";
import {
  fleetRow,
  fleetRows,
  groupByNeeds,
  robotCounts,
  severityOf,
  stateWord,
} from "../../../src/console/browser/fleets/data.ts";
import { formErrors } from "../../../src/console/browser/parts/form/form-errors.ts";

const NEED = { reason: "The endpoint of pi0.5 in eu has been unhealthy.", action: "Get it to answer again." };

function fleet(parts: Partial<FleetView> = {}): FleetView {
  return {
    id: "fleet_1",
    name: "f",
    subject: "pi0.5",
    readiness_mode: "always_ready",
    peak_active_robots: 2,
    status: "ready",
    robots: { registered: 186, ready: 2, active: 0, waiting: 184, blocked: 0 },
    ...parts,
  };
}

function needsOf(fleetId: string, parts: Partial<FleetNeeds> = {}): FleetNeeds {
  return { fleet_id: fleetId, needs: [], waiting: { endpoint: 19, window: 0, peak: 165, robot: 0 }, ...parts };
}

describe("fleet rows", () => {
  it("a fleet with failing endpoints is stuck, one whose model is loading is preparing", () => {
    const [stuck, loading] = [{ needs: [NEED] }, { needs: [] }].map((known) =>
      fleetRow(fleet({ status: "preparing" }), known),
    );
    expect([stateWord(stuck!), stateWord(loading!)]).toEqual(["stuck", "preparing"]);
  });

  it("blocked fleets come first, fleets that need no attention last", () => {
    const rows = [
      fleetRow(fleet({ id: "ready" }), { needs: [] }),
      fleetRow(fleet({ id: "preparing", status: "preparing" }), { needs: [] }),
      fleetRow(fleet({ id: "update cannot go on" }), { needs: [NEED] }),
      fleetRow(fleet({ id: "degraded", status: "degraded" }), { needs: [NEED] }),
      fleetRow(fleet({ id: "stuck", status: "preparing" }), { needs: [NEED] }),
      fleetRow(fleet({ id: "blocked", status: "blocked" }), { needs: [NEED] }),
    ];
    const sorted = rows.toSorted((left, right) => severityOf(left) - severityOf(right));
    expect(sorted).toEqual(rows.toReversed());
  });

  it("fleets with the same needs form one group", () => {
    const fleets = Array.from({ length: 10 }, (_, index) => fleet({ id: `fleet_${index}`, status: "blocked" }));
    const needs = fleets.map(({ id }) => needsOf(id, { needs: [NEED] }));
    const groups = groupByNeeds([...fleetRows(fleets, needs), fleetRow(fleet({ id: "well" }), needsOf("well"))]);
    expect(groups.map((group) => [group.rows.length, group.needs])).toEqual([[10, [NEED]]]);
  });

  it("until the needs are loaded, the blocker of the view is shown", () => {
    const blocked = fleet({ status: "blocked", blocker: "No robot can run it." });
    expect(fleetRow(blocked, undefined).needs).toEqual([{ reason: "No robot can run it.", action: "" }]);
  });

  const counts = (row: Parameters<typeof robotCounts>[0]) =>
    Object.fromEntries(robotCounts(row).map(({ word, count }) => [word, count]));

  it("robots over the peak are counted separately from waiting ones", () => {
    expect(counts(fleetRow(fleet(), needsOf("fleet_1")))).toMatchObject({ "over the peak": 165, waiting: 19 });
  });

  it("waiting counts that do not match the view are ignored", () => {
    const robots = { registered: 186, ready: 2, active: 1, waiting: 183, blocked: 0 };
    const row = fleetRow(fleet({ robots }), needsOf("fleet_1"));
    expect(counts(row)).toEqual({ active: 1, ready: 2, waiting: 183, blocked: 0 });
  });

  it.each([
    [2, "capacity is kept for 2 at once"],
    [16, "capacity is kept for 2 at once; 16 are active"],
  ])("peakInWords: peak of 2, %i active", (active, text) => {
    expect(peakInWords(fleet({ robots: { registered: 20, ready: 0, active, waiting: 20 - active, blocked: 0 } }))).toBe(
      text,
    );
  });
});

describe("fitGroups", () => {
  const robot = (name: string, fits: boolean | null, reason: string | null): PreviewedRobot => ({
    robot_id: name,
    robot: name,
    robot_type_id: "arm",
    region: "eu",
    site: null,
    fits,
    reason,
  });

  it("a robot that fits the model waits while the endpoint fails", () => {
    const dead = "The endpoint in eu has been unhealthy.";
    const robots = [
      robot("a", true, null),
      robot("b", true, dead),
      robot("c", true, dead),
      robot("d", false, "no camera"),
    ];
    const groups = fitGroups(robots);
    expect(groups.map(({ fit, reason, robots: { length } }) => [fit, reason, length])).toEqual([
      ["lacks", "no camera", 1],
      ["waits", dead, 2],
      ["runs", null, 1],
    ]);
    expect(fitCounts(groups)).toEqual({ lacks: 1, waits: 2, runs: 1 });
  });
});

describe("formErrors", () => {
  const problem = {
    kind: "invalid" as const,
    detail: "",
    findings: [
      { type: "string_too_short", loc: ["body", "name"], msg: "", ctx: { min_length: 1 } },
      { type: "missing", loc: ["body", "peak"], msg: "" },
      { type: "value_error", loc: ["body", "windows", 0, "ends_at"], msg: "ends before it starts" },
    ],
  };
  const names = ["name", "peak", "windows.0.ends_at"];

  it.each<[what: string, changed: readonly string[], expected: readonly string[]]>([
    ["no change → all errors", [], names],
    ["fields changed → their errors are gone", ["name", "windows.0.ends_at"], ["peak"]],
  ])("%s", (_what, changed, expected) => {
    const errors = formErrors(problem, names, (name) => !changed.includes(name));
    expect(names.filter((name) => errors.of(name) !== undefined)).toEqual(expected);
    expect(errors.rest).toEqual([]);
  });

  it("an error without a field of its own → at the nearest field above, or for the whole form", () => {
    const errors = formErrors(problem, ["name", "windows"]);
    expect([errors.of("windows"), errors.rest]).toEqual(["Ends before it starts.", ["peak: This is needed."]]);
  });
});

describe("bodyOf: the selection of a new fleet", () => {
  it("labels → one on each line, with the commas of their values", () => {
    const { selection } = bodyOf(formOf({ "selection.selector.labels": "zone=a,b\n\n line = c=d " }));
    expect(selection).toEqual({ selector: { labels: { zone: "a,b", line: "c=d" } } });
  });

  it("names → separated by lines or commas", () => {
    const { selection } = bodyOf(formOf({ selection: "robots", "selection.robots": "r1, r2\nr3," }));
    expect(selection).toEqual({ robots: ["r1", "r2", "r3"] });
  });
});

function formOf(values: Readonly<Record<string, string>>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(values)) data.set(name, value);
  return data;
}
