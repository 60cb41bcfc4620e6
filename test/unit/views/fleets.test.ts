import { describe, expect, it, test } from "vitest";

import type {
  FleetGenerationView,
  FleetMemberView,
  FleetNeeds,
  PreviewedRobot,
} from "../../../src/api/fleet-details.ts";
import type { FleetView } from "../../../src/api/fleets.ts";
import {
  earlierGeneration,
  fitGroups,
  fitText,
  fleetRow,
  type FleetRow,
  fleetRowWith,
  FLEETS,
  fleetState,
  groupNeeds,
  memberGroups,
  peakText,
  robotCounts,
  rollbackConsequences,
  subjectOf,
  updateConsequences,
  updateOutcome,
} from "../../../src/views/fleets.ts";
import { type Column, counted, countsText, isWanted, sortKeyOf } from "../../../src/views/view.ts";

const DEAD =
  "The endpoint of m in us has been unhealthy since 2026-11-22T09:30:05.120Z: status 503; 2 of 2 robots wait.";
const NEED = { reason: DEAD, action: "Get it to answer again." };

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

const WAITING = { endpoint: 19, window: 0, peak: 165, robot: 0 };

function needsOf(parts: Partial<FleetNeeds> = {}): FleetNeeds {
  return { fleet_id: "fleet_1", needs: [], waiting: WAITING, ...parts };
}

function column(name: string): Column<FleetRow> {
  return FLEETS.columns.find((each) => each.name === name)!;
}

describe("rows", () => {
  it.each([
    ["preparing", [NEED], "stuck"],
    ["preparing", [], "preparing"],
    ["ready", [NEED], "ready"],
  ] as const)("fleetState: %s with needs %j → %s", (status, needs, state) => {
    const row = fleetRow(fleet({ status }), needsOf({ needs: [...needs] }));
    expect(fleetState(row)).toBe(state);
    expect(isWanted(FLEETS, row, { status: state, model: "pi0.5" }, 0)).toBe(true);
    expect(isWanted(FLEETS, row, { status: "blocked" }, 0)).toBe(false);
  });

  it("sorted by status: blocked fleets come first, fleets that need no attention last", () => {
    const rows = [
      fleetRow(fleet({ id: "ready" }), needsOf()),
      fleetRow(fleet({ id: "preparing", status: "preparing" }), needsOf()),
      fleetRow(fleet({ id: "update cannot go on" }), needsOf({ needs: [NEED] })),
      fleetRow(fleet({ id: "degraded", status: "degraded" }), needsOf({ needs: [NEED] })),
      fleetRow(fleet({ id: "stuck", status: "preparing" }), needsOf({ needs: [NEED] })),
      fleetRow(fleet({ id: "blocked", status: "blocked" }), needsOf({ needs: [NEED] })),
    ];
    const keyOf = (row: FleetRow) => Number(sortKeyOf(column("status"), row));
    expect(rows.toSorted((left, right) => keyOf(left) - keyOf(right))).toEqual(rows.toReversed());
  });

  it("until the needs are known, the blockers of the view stand in", () => {
    const blocked = fleet({ status: "blocked", blocker: "No robot can run it." });
    expect(fleetRowWith(null)(blocked).needs).toEqual([{ reason: "No robot can run it.", action: "" }]);
  });

  it.each<[what: string, robots: Partial<FleetView["robots"]>, waiting: typeof WAITING | null, text: string]>([
    ["over the peak", {}, WAITING, "2 ready, 165 over the peak, 19 waiting of 186"],
    ["offline", {}, { ...WAITING, endpoint: 18, robot: 1 }, "2 ready, 165 over the peak, 18 waiting, 1 offline of 186"],
    ["counts of another time", { waiting: 100 }, WAITING, "2 ready, 165 over the peak of 186"],
    ["not known", {}, null, "2 ready, 184 waiting of 186"],
    ["no robots", { registered: 0, ready: 0, waiting: 0 }, null, "0 robots"],
  ])("robotCounts: %s", (_what, parts, waiting, text) => {
    const view = fleet({ robots: { ...fleet().robots, ...parts } });
    const known = waiting === null ? null : needsOf({ waiting });
    expect(countsText(robotCounts(fleetRow(view, known)))).toBe(text);
  });

  it.each([
    [2, "capacity is kept for 2 at once"],
    [16, "capacity is kept for 2 at once; 16 are active"],
  ])("peakText: peak of 2, %i active", (active, text) => {
    expect(peakText(fleet({ robots: { registered: 20, ready: 0, active, waiting: 20 - active, blocked: 0 } }))).toBe(
      text,
    );
  });
});

describe("reasons", () => {
  const LACKS = "No robot of this fleet can run pi0.5: arm-1: pi0.5 needs a camera. Set up robots again.";
  const mixed = { registered: 40, ready: 8, active: 0, waiting: 0, blocked: 32 };
  const failing = { registered: 2, ready: 1, active: 0, waiting: 1, blocked: 0 };
  const estimate = { lower_seconds: 60, upper_seconds: 180, updated_at: "" };
  const update = (status: string, blocker: string | null = null) => ({
    subject: "m",
    generation_id: "g",
    status,
    blocker,
  });
  const BLOCKED = "1 of 2 robots cannot run m: arm-1: why.";
  it.each<[what: string, parts: Partial<FleetView>, reason: string]>([
    ["ready", { status: "ready" }, ""],
    ["blocked", { status: "blocked", blocker: LACKS }, "No robot of this fleet can run pi0.5"],
    ["over", { status: "blocked", blocker: "All windows are past. Create a fleet." }, "All windows are past"],
    ["degraded by robots", { status: "degraded", robots: mixed }, "32 of 40 robots cannot run its model"],
    ["degraded by an endpoint", { status: "degraded", robots: failing }, "an inference endpoint fails; 1 robot waits"],
    ["preparing", { readiness_estimate: estimate }, "ready in 1 min to 3 min"],
    ["updated", { update: update("preparing") }, "preparing update to m"],
    ["a blocked update", { update: update("blocked", BLOCKED) }, "blocked update to m; 1 of 2 robots cannot run m"],
  ])("%s", (_what, parts, reason) => {
    expect(column("reason").show(fleetRow(fleet(parts), null))).toEqual({ kind: "sentence", text: reason });
  });

  it("an update and an unreachable endpoint → both, and since when", () => {
    const needs = needsOf({ needs: [{ reason: `Update: ${DEAD}`, action: "" }] });
    expect(column("reason").show(fleetRow(fleet({ update: update("preparing") }), needs))).toMatchObject({
      text: "preparing update to m; The endpoint of m in us has been unhealthy since 2026-11-22T09:30:05.120Z",
    });
  });

  it("groupNeeds: need of many fleets → one group without robots and servers; of a single fleet → in full", () => {
    const blocked = (name: string) => {
      const reason = `No robot of this fleet can run m: arm of ${name}: m needs a camera.`;
      return fleetRow(fleet({ name, status: "blocked" }), needsOf({ needs: [{ reason, action: "Set up again." }] }));
    };
    const stuck = fleetRow(fleet({ name: "c", status: "preparing" }), needsOf({ needs: [NEED] }));
    const groups = groupNeeds([stuck, blocked("a"), blocked("b"), fleetRow(fleet(), needsOf())]);
    expect(groups.map(({ rows, need }) => [rows.map((row) => row.fleet.name), need])).toEqual([
      [["a", "b"], { reason: "No robot of this fleet can run m.", action: "Set up again." }],
      [["c"], NEED],
    ]);
  });
});

describe("members", () => {
  const WHERE = { robot_type_id: "arm", region: "eu", site: null };
  const member = (robot: string, parts: Partial<FleetMemberView>): FleetMemberView => ({
    robot_id: robot,
    robot,
    ...WHERE,
    state: "ready",
    waiting_for: null,
    reason: null,
    ...parts,
  });

  test("grouped by state and reason, urgent ones first; then those that are offline besides", () => {
    const members = [
      member("here", {}),
      member("gone", { status: "offline" }),
      member("spare", { state: "waiting", waiting_for: "peak" }),
      member("off", { state: "waiting", waiting_for: "robot", reason: "It is offline.", status: "offline" }),
      member("blind", { state: "blocked", reason: "It lacks a camera." }),
    ];
    expect(memberGroups(members).map(({ state, members: own }) => [state, own.map(({ robot }) => robot)])).toEqual([
      ["blocked", ["blind"]],
      ["over the peak", ["spare"]],
      ["offline", ["off"]],
      ["ready", ["here", "gone"]],
      ["offline", ["gone"]],
    ]);
  });

  const robot = (fits: boolean | null, reason: string | null): PreviewedRobot => ({
    robot_id: "rob_1",
    robot: "arm",
    ...WHERE,
    fits,
    reason,
  });
  test("fitGroups: incompatible groups first, larger groups first", () => {
    const robots = [
      robot(true, null),
      robot(true, "endpoint"),
      robot(false, "camera"),
      robot(false, "axes"),
      robot(false, "axes"),
    ];
    expect(fitGroups(robots).map((group) => [group.fit, group.reason, group.robots.length])).toEqual([
      ["lacks", "axes", 2],
      ["lacks", "camera", 1],
      ["waits", "endpoint", 1],
      ["runs", null, 1],
    ]);
  });

  test.each<[robots: readonly PreviewedRobot[], text: string]>([
    [[robot(null, null)], "1 robot"],
    [[robot(true, null)], "1 robot; it can run the model"],
    [[robot(true, null), robot(true, null)], "2 robots; all can run the model"],
    [[robot(true, null), robot(false, "x")], "2 robots; 1 can run the model"],
    [[robot(true, null), robot(true, "x")], "2 robots; 1 can run the model now, 1 once the endpoint answers"],
  ])("fitText: case %#", (robots, text) => {
    expect(fitText(fitGroups(robots))).toBe(text);
  });
});

describe("the earlier model", () => {
  const generation = (id: string, checkpoint: string, activatedAt: string | null = "2026"): FleetGenerationView => ({
    generation_id: id,
    subject: `model of ${checkpoint}`,
    checkpoint_id: checkpoint,
    status: "superseded",
    created_at: "2026",
    activated_at: activatedAt,
    blocker: null,
  });
  const active = { subject: "m", generation_id: "now", status: "active" };
  const update = { subject: "n", generation_id: "next", status: "pending" };
  const now = generation("now", "c3");
  it.each<[what: string, parts: Partial<FleetView>, older: readonly FleetGenerationView[], id: string | undefined]>([
    ["none", {}, [], undefined],
    ["the one before", {}, [generation("b", "c2"), generation("a", "c1")], "b"],
    ["one that never served is passed over", {}, [generation("b", "c2", null), generation("a", "c1")], "a"],
    ["one with the same checkpoint too", {}, [generation("b", "c3"), generation("a", "c1")], "a"],
    ["an update in progress → the active one", { update }, [generation("a", "c1")], "now"],
    ["no active model is told", { active_model: null }, [generation("a", "c1")], undefined],
  ])("earlierGeneration: %s", (_what, parts, older, id) => {
    const generations = [generation("next", "c4", null), now, ...older];
    const details = { generations } as Parameters<typeof earlierGeneration>[1];
    expect(earlierGeneration(fleet({ active_model: active, ...parts }), details)?.generation_id).toBe(id);
  });

  it("subjectOf: the model while it stands for that checkpoint, else the checkpoint", () => {
    expect(subjectOf(now, { slug: "m", default_checkpoint_id: "c3" })).toBe("model of c3");
    expect(subjectOf(now, { slug: "m", default_checkpoint_id: "c4" })).toBe("c3");
    expect(subjectOf(now, null)).toBe("c3");
  });

  it("consequences: what is used meanwhile, and which update ends", () => {
    const kept = "It uses m until the new model is ready. If that never happens, it stays as it is.";
    const view = fleet({ active_model: active });
    expect(rollbackConsequences(view, now)).toEqual([
      "This rolls f back from m to model of c3 (c3), which it used before.",
      kept,
    ]);
    expect(rollbackConsequences({ ...view, update }, now)).toEqual([
      "This ends the update of f to n. It keeps model of c3 (c3).",
    ]);
    expect(updateConsequences(fleetRow({ ...view, update }, null))).toEqual([
      "This updates f, which uses m: 2 ready, 184 waiting of 186.",
      "It replaces the update to n.",
      kept,
    ]);
  });

  it.each<[asked: Partial<FleetView>, before: Partial<FleetView>, text: string]>([
    [{ active_model: active, update }, {}, "f is being updated to x; m serves until that is ready."],
    [{ active_model: { ...active, status: "blocked" }, update }, {}, "f is being updated to x."],
    [{ active_model: active }, {}, "f uses m now."],
    [{ active_model: active }, { active_model: active, update }, "f keeps m; the update to n is ended."],
    [{ active_model: active }, { active_model: active }, "f uses m already; there is nothing to update."],
  ])("updateOutcome: case %#", (asked, before, text) => {
    expect(updateOutcome(fleet(asked), "x", fleet(before))).toBe(text);
  });
});

test.each([
  [1, "1 robot"],
  [0, "0 robots"],
  [1204, "1,204 robots"],
  [1_000_000, "1,000,000 robots"],
])("counted: %i → %s", (count, text) => {
  expect(counted(count, "robot")).toBe(text);
});
