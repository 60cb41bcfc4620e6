import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fleetViewSchema } from "../../../../src/api/fleets.ts";
import type { EndpointFacts } from "../../../../src/service/endpoints/queries.ts";
import { deriveDetails } from "../../../../src/service/fleets/details.ts";
import { assessFleet } from "../../../../src/service/fleets/readiness/assessment.ts";
import { deriveFleet } from "../../../../src/service/fleets/readiness/derive-fleet.ts";
import type { FleetFacts, GenerationFacts, MemberGroup } from "../../../../src/service/fleets/readiness/fleet-facts.ts";
import { deriveNeeds, PREPARATION_PATIENCE_MS } from "../../../../src/service/fleets/readiness/needs.ts";
import { nextActive } from "../../../../src/service/fleets/tasks.ts";
import { times } from "../../../support/run/tier.ts";

const NOW_MS = Date.parse("2026-06-01T12:00:00.000Z");
const HOUR_MS = 3_600_000;
const at = (offsetMs: number) => new Date(NOW_MS + offsetMs).toISOString();
const window = (startsMs: number, endsMs: number) => ({ startsMs: NOW_MS + startsMs, endsMs: NOW_MS + endsMs });
const within = [window(-HOUR_MS, HOUR_MS)];
const later = [window(HOUR_MS, 2 * HOUR_MS)];
const past = [window(-2 * HOUR_MS, -HOUR_MS)];

const healthy: EndpointFacts = {
  health: "healthy",
  health_since: at(-1000),
  last_probed_at: at(-1000),
  last_error: null,
};
const failing: EndpointFacts = { ...healthy, health: "failing" };
const unknown: EndpointFacts = { health: "unknown", health_since: null, last_probed_at: null, last_error: null };

function generation(parts: Partial<GenerationFacts> = {}): GenerationFacts {
  return {
    id: "gen_1",
    subject: "pi0.5",
    checkpoint_id: "ckpt_pi05",
    model_slug: "pi0.5",
    requirements: "{}",
    created_at: at(-60_000),
    activated_at: at(-30_000),
    endpoints: new Map([["eu", healthy]]),
    preparations: [],
    ...parts,
  };
}

function group(parts: Partial<MemberGroup> = {}): MemberGroup {
  return {
    count: 3,
    example: "r1",
    region: "eu",
    isRemoved: false,
    isOffline: false,
    deployment: "none",
    obstacle: null,
    updateObstacle: null,
    ...parts,
  };
}

function fleet(parts: Partial<FleetFacts> = {}): FleetFacts {
  return {
    id: "fleet_1",
    name: "night shift",
    readiness_mode: "always_ready",
    peak_active_robots: 3,
    selection: '{"kind":"robots","selector":null}',
    created_at: at(0),
    windows: [],
    active: generation(),
    update: null,
    members: [group()],
    ...parts,
  };
}

const needsWrist = "needs a camera with role wrist; the robot has none";
const on = (endpoint: EndpointFacts) => new Map([["eu", endpoint]]);
const failingInUs = new Map([
  ["eu", healthy],
  ["us", failing],
]);

describe("deriveFleet: status", () => {
  const CASES: readonly [string, Partial<FleetFacts>, string][] = [
    ["all healthy → ready", {}, "ready"],
    ["never activated → preparing", { active: generation({ activated_at: null }) }, "preparing"],
    [
      "never activated, endpoint failing → preparing",
      { active: generation({ activated_at: null, endpoints: on(failing) }) },
      "preparing",
    ],
    ["an endpoint fails after activation → degraded", { active: generation({ endpoints: on(failing) }) }, "degraded"],
    ["endpoint address changed, not probed yet → ready", { active: generation({ endpoints: on(unknown) }) }, "ready"],
    ["an unneeded endpoint fails → ready", { active: generation({ endpoints: failingInUs }) }, "ready"],
    [
      "one member cannot run it → degraded",
      { members: [group(), group({ count: 1, obstacle: needsWrist })] },
      "degraded",
    ],
    [
      "one member has no endpoint in its region → degraded",
      { members: [group(), group({ count: 1, region: "moon" })] },
      "degraded",
    ],
    ["no member can run it → blocked", { members: [group({ obstacle: needsWrist })] }, "blocked"],
    [
      "both blocked and never activated → blocked",
      { active: generation({ activated_at: null }), members: [group({ obstacle: needsWrist })] },
      "blocked",
    ],
    ["scheduled, within its window → ready", { readiness_mode: "scheduled", windows: within }, "ready"],
    ["scheduled, before its window → preparing", { readiness_mode: "scheduled", windows: later }, "preparing"],
    [
      "scheduled, between windows → preparing",
      { readiness_mode: "scheduled", windows: [...past, ...later] },
      "preparing",
    ],
    ["scheduled, all windows past → blocked", { readiness_mode: "scheduled", windows: past }, "blocked"],
    [
      "scheduled, outside its window, endpoint failing → preparing",
      { readiness_mode: "scheduled", windows: later, active: generation({ endpoints: on(failing) }) },
      "preparing",
    ],
    [
      "scheduled, within its window, endpoint failing → degraded",
      { readiness_mode: "scheduled", windows: within, active: generation({ endpoints: on(failing) }) },
      "degraded",
    ],
    [
      "on_demand and idle, endpoint failing → ready",
      { readiness_mode: "on_demand", active: generation({ endpoints: on(failing) }) },
      "ready",
    ],
    [
      "on_demand and deployed, endpoint failing → degraded",
      {
        readiness_mode: "on_demand",
        active: generation({ endpoints: on(failing) }),
        members: [group({ deployment: "inactive" })],
      },
      "degraded",
    ],
  ];
  it.each(CASES)("%s", (_name, parts, status) => {
    expect(deriveFleet(assessFleet(fleet(parts), NOW_MS)).status).toBe(status);
  });

  it("window: includes its start, excludes its end", () => {
    const scheduled = fleet({ readiness_mode: "scheduled", windows: [window(0, 1)] });
    const statuses = [-1, 0, 1].map((offsetMs) => deriveFleet(assessFleet(scheduled, NOW_MS + offsetMs)).status);
    expect(statuses).toEqual(["preparing", "ready", "blocked"]);
  });
});

describe("deriveFleet: blocker", () => {
  it("incompatible robots → their names, the reason and the remedy", () => {
    const members = [group({ obstacle: needsWrist }), group({ count: 1, example: "r9", region: "moon" })];
    const {
      blocker,
      active_model: activeModel,
      readiness_estimate: readinessEstimate,
    } = deriveFleet(assessFleet(fleet({ members }), NOW_MS));
    expect(blocker).toMatchInlineSnapshot(
      `"No robot of this fleet can run pi0.5: r1 and 2 more: pi0.5 needs a camera with role wrist; the robot has none; r9: pi0.5 has no endpoint in the robot's region moon. Set up robots again so that they fit, or update the fleet to another model."`,
    );
    expect(activeModel?.status).toBe("blocked");
    expect(readinessEstimate).toBeNull();
  });

  it("schedule over → says so", () => {
    const { blocker } = deriveFleet(assessFleet(fleet({ readiness_mode: "scheduled", windows: past }), NOW_MS));
    expect(blocker).toMatchInlineSnapshot(
      `"All operating windows are past. Create a fleet with windows that are still to come."`,
    );
  });

  it("many reasons → stays short", () => {
    const members = Array.from({ length: 1000 }, (_, index) =>
      group({ count: 1, example: "x".repeat(64), obstacle: `${"y".repeat(500)}${index}` }),
    );
    const { blocker } = deriveFleet(assessFleet(fleet({ members }), NOW_MS));
    expect(blocker?.length).toBeLessThan(2500);
    expect(blocker).toContain("and 997 more for other reasons");
  });
});

describe("deriveFleet: counts", () => {
  const counts = (parts: Partial<FleetFacts>) => deriveFleet(assessFleet(fleet(parts), NOW_MS)).robots;

  const CASES: readonly [string, Partial<FleetFacts>, Partial<ReturnType<typeof counts>>][] = [
    ["healthy endpoint → ready", {}, { ready: 3 }],
    ["endpoint not healthy → waiting", { active: generation({ endpoints: on(unknown) }) }, { waiting: 3 }],
    ["outside the windows → waiting", { readiness_mode: "scheduled", windows: later }, { waiting: 3 }],
    [
      "deployed → active, also outside the windows",
      { readiness_mode: "scheduled", windows: later, members: [group({ deployment: "active" })] },
      { active: 3 },
    ],
    [
      "offline → waits, and leaves its room below the peak to others",
      { peak_active_robots: 2, members: [group({ count: 2, isOffline: true }), group({ count: 2 })] },
      { registered: 4, ready: 2, waiting: 2 },
    ],
    [
      "offline, but deployed → active; offline and incompatible → blocked",
      {
        members: [
          group({ count: 1, isOffline: true, deployment: "active" }),
          group({ count: 2, isOffline: true, obstacle: needsWrist }),
        ],
      },
      { active: 1, blocked: 2 },
    ],
    ["inactive deployment → ready like the others", { members: [group({ deployment: "inactive" })] }, { ready: 3 }],
    [
      "incompatible → blocked, even if deployed",
      { members: [group({ deployment: "active", obstacle: needsWrist })] },
      { blocked: 3 },
    ],
    [
      "more ready robots than the peak allows → the others wait",
      { peak_active_robots: 2, members: [group({ count: 1, deployment: "active" }), group({ count: 4 })] },
      { registered: 5, active: 1, ready: 1, waiting: 3 },
    ],
    [
      "peak reached → the others wait",
      { peak_active_robots: 1, members: [group({ count: 2, deployment: "active" }), group({ count: 1 })] },
      { active: 2, waiting: 1 },
    ],
    [
      "each region → by its own endpoint",
      {
        active: generation({ endpoints: failingInUs }),
        members: [group({ count: 2 }), group({ count: 1, region: "us" })],
      },
      { ready: 2, waiting: 1 },
    ],
  ];
  it.each(CASES)("%s", (_name, parts, expected) => {
    expect(counts(parts)).toEqual({ registered: 3, ready: 0, active: 0, waiting: 0, blocked: 0, ...expected });
  });
});

describe("deriveNeeds: problems that need a person", () => {
  const needs = (parts: Partial<FleetFacts>) => deriveNeeds(assessFleet(fleet(parts), NOW_MS)).needs;
  const dead = (sinceMs: number): EndpointFacts => ({
    health: "failing",
    health_since: at(-sinceMs),
    last_probed_at: at(-1000),
    last_error: "connection refused",
  });
  const overdue = dead(PREPARATION_PATIENCE_MS);
  const neverReady = (endpoint: EndpointFacts, createdAt = endpoint.health_since ?? at(0)) =>
    generation({ activated_at: null, endpoints: on(endpoint), created_at: createdAt });
  const scheduled = { readiness_mode: "scheduled", windows: later } as const;
  const onDemand = { readiness_mode: "on_demand" } as const;

  it("endpoint fails for longer than a preparation takes → which one, since when, its error, and the waiting robots", () => {
    expect(needs({ active: neverReady(overdue) })).toMatchInlineSnapshot(`
      [
        {
          "action": "Get it to answer again, or update the fleet to another model.",
          "reason": "The endpoint of pi0.5 in eu has been unhealthy since 2026-06-01T11:55:00.000Z: connection refused; 3 of 3 robots wait.",
        },
      ]
    `);
  });

  it("endpoint failed already when the model was chosen → it gets the time of a preparation from then on", () => {
    const since = (createdAt: string) => needs({ update: neverReady(dead(24 * HOUR_MS), createdAt) });
    expect(since(at(1 - PREPARATION_PATIENCE_MS))).toEqual([]);
    expect(since(at(-PREPARATION_PATIENCE_MS))).toHaveLength(1);
  });

  it("several failing endpoints → a need for each, in the order of their regions", () => {
    const regions = ["us", "eu"];
    const active = generation({ endpoints: new Map(regions.map((region) => [region, dead(1000)])) });
    const members = [group({ region: "us", count: 1 }), group()];
    expect(needs({ active, members }).map(({ reason }) => reason)).toEqual([
      "The endpoint of pi0.5 in eu has been unhealthy since 2026-06-01T11:59:59.000Z: connection refused; 3 of 4 robots wait.",
      "The endpoint of pi0.5 in us has been unhealthy since 2026-06-01T11:59:59.000Z: connection refused; 1 of 4 robots waits.",
    ]);
  });

  it("some robots cannot run the model → how many, the reason and the remedy", () => {
    expect(needs({ members: [group(), group({ count: 1, example: "r9", obstacle: needsWrist })] }))
      .toMatchInlineSnapshot(`
      [
        {
          "action": "Set these up again so that they fit, or update the fleet to another model.",
          "reason": "1 of 4 robots cannot run pi0.5: r9: pi0.5 needs a camera with role wrist; the robot has none.",
        },
      ]
    `);
  });

  it("some robots were removed, others cannot run the model → a need each", () => {
    const members = [
      group(),
      group({ count: 2, example: "r4", isRemoved: true }),
      group({ count: 1, example: "r6", obstacle: needsWrist }),
    ];
    expect(needs({ members })).toMatchObject([
      {
        reason: "2 of 6 robots were removed: r4 and 1 more.",
        action: "Take its members again: robot-policy fleets reconcile 'night shift'.",
      },
      { reason: `1 of 6 robots cannot run pi0.5: r6: pi0.5 ${needsWrist}.` },
    ]);
  });

  it("several reasons → the same sentence for any order of the robots", () => {
    const needsArm = "needs a robot of type yam; the robot is so101";
    const one = (example: string, obstacle: string) => group({ count: 1, example, obstacle });
    const members = [one("r9", needsWrist), one("r8", needsArm), one("r5", needsArm), one("r3", needsWrist)];
    const expected =
      "5 of 8 robots cannot run pi0.5: r4 and 2 more: pi0.5 needs a robot of type yam; the robot is so101; " +
      "r3 and 1 more: pi0.5 needs a camera with role wrist; the robot has none.";
    const all = [group(), ...members, one("r4", needsArm)];
    expect(needs({ members: all })).toMatchObject([{ reason: expected }]);
    expect(needs({ members: all.toReversed() })).toMatchObject([{ reason: expected }]);
  });

  const update = (endpoint: EndpointFacts) => generation({ ...neverReady(endpoint), id: "gen_2", subject: "pi1" });
  const COUNTS: readonly [string, Partial<FleetFacts>, number][] = [
    ["all healthy → none", {}, 0],
    ["model is loading, errors for minutes → none yet", { active: neverReady(dead(299_000)) }, 0],
    ["not probed yet → none yet", { active: neverReady(unknown) }, 0],
    ["a previously healthy endpoint fails → one at once", { active: generation({ endpoints: on(dead(0)) }) }, 1],
    [
      "idle on demand, after it was ready once → none: capacity comes when a robot asks",
      { ...onDemand, active: generation({ endpoints: on(overdue) }) },
      0,
    ],
    ["on demand, and never ready → one", { ...onDemand, active: neverReady(overdue) }, 1],
    [
      "before its window, after it was ready once → none",
      { ...scheduled, active: generation({ endpoints: on(overdue) }) },
      0,
    ],
    ["before its window, and never ready → one", { ...scheduled, active: neverReady(overdue) }, 1],
    ["blocked → the blocker alone", { active: neverReady(overdue), members: [group({ obstacle: needsWrist })] }, 1],
    [
      "some robots cannot run it, others wait → both",
      { active: neverReady(overdue), members: [group(), group({ obstacle: needsWrist })] },
      2,
    ],
    ["blocked update → one", { update: update(healthy), members: [group({ updateObstacle: needsWrist })] }, 1],
    ["endpoint of the update fails for minutes → one", { update: update(overdue) }, 1],
    ["endpoint of the update loads → none yet", { update: update(dead(1000)) }, 0],
  ];
  it("endpoint of an update fails → no waiting robots: the fleet works with its current model", () => {
    expect(needs({ update: update(overdue) })[0]?.reason).toBe(
      `Update: The endpoint of pi1 in eu has been unhealthy since ${overdue.health_since}: connection refused.`,
    );
  });

  it.each(COUNTS)("%s", (_name, parts, count) => {
    expect(needs(parts)).toHaveLength(count);
  });
});

describe("deriveNeeds: reason of waiting robots", () => {
  const waiting = (parts: Partial<FleetFacts>) => deriveNeeds(assessFleet(fleet(parts), NOW_MS)).waiting;
  const mixed = {
    peak_active_robots: 2,
    active: generation({ endpoints: failingInUs }),
    members: [group({ count: 167 }), group({ count: 19, region: "us" })],
  };

  it("robots beyond the peak → do not wait for an endpoint", () => {
    expect(waiting(mixed)).toEqual({ endpoint: 19, window: 0, peak: 165, robot: 0 });
    expect(deriveNeeds(assessFleet(fleet(mixed), NOW_MS)).needs[0]?.reason).toContain("19 of 186 robots wait");
  });

  it("outside the windows → all wait for the next one", () => {
    const outside = fleet({ ...mixed, readiness_mode: "scheduled", windows: later });
    expect(waiting(outside)).toEqual({ endpoint: 0, window: 186, peak: 0, robot: 0 });
  });
});

describe("deriveFleet: update", () => {
  const update = (parts: Partial<GenerationFacts> = {}) =>
    generation({
      id: "gen_2",
      subject: "pi1",
      checkpoint_id: "ckpt_pi1",
      created_at: at(-5000),
      activated_at: null,
      ...parts,
    });
  const stale = { ...healthy, last_probed_at: at(-6000) };
  const unfit = group({ count: 1, obstacle: needsWrist, updateObstacle: needsWrist });

  it.each<[string, Partial<GenerationFacts>, readonly MemberGroup[], string]>([
    ["endpoints not probed since its start → pending", { endpoints: on(stale) }, [group()], "pending"],
    ["endpoints never probed → pending", { endpoints: on(unknown) }, [group()], "pending"],
    ["endpoints observed and not healthy → preparing", { endpoints: on(failing) }, [group()], "preparing"],
    [
      "start in the future, from a clock that was ahead → not waited for",
      { endpoints: on(failing), created_at: at(HOUR_MS) },
      [group()],
      "preparing",
    ],
    ["already blocked robot → does not block it", { endpoints: on(failing) }, [group(), unfit], "preparing"],
    ["no robot could run it → blocked, also for a fleet without active robots", {}, [unfit], "blocked"],
    ["region would lose its endpoint → blocked", { endpoints: new Map([["us", healthy]]) }, [group()], "blocked"],
  ])("%s", (_name, parts, members, status) => {
    const view = deriveFleet(assessFleet(fleet({ update: update(parts), members }), NOW_MS)).update;
    const blocker = status === "blocked" ? expect.any(String) : null;
    expect(view).toEqual({ subject: "pi1", generation_id: "gen_2", status, blocker });
  });

  it("update that a current robot cannot run → blocked, the fleet stays unchanged", () => {
    const members = [group({ count: 2 }), group({ count: 1, example: "r7", updateObstacle: needsWrist })];
    const derived = deriveFleet(assessFleet(fleet({ update: update(), members }), NOW_MS));
    expect(derived.update).toMatchInlineSnapshot(`
      {
        "blocker": "1 of 3 robots cannot run pi1: r7: pi1 needs a camera with role wrist; the robot has none. Set these up again so that they fit, or update the fleet to another model.",
        "generation_id": "gen_2",
        "status": "blocked",
        "subject": "pi1",
      }
    `);
    expect([derived.status, derived.blocker, derived.active_model.status]).toEqual(["ready", null, "active"]);
  });
});

describe("deriveFleet: readiness_estimate", () => {
  const preparations = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
  const estimate = (active: Partial<GenerationFacts>, parts: Partial<FleetFacts> = {}) =>
    deriveFleet(
      assessFleet(
        fleet({ active: generation({ activated_at: null, endpoints: on(failing), ...active }), ...parts }),
        NOW_MS,
      ),
    ).readiness_estimate;
  const range = (lowerSeconds: number, upperSeconds: number) => ({
    lower_seconds: lowerSeconds,
    upper_seconds: upperSeconds,
    updated_at: at(0),
  });

  it.each([
    ["no observations → null", { preparations: [] }, null],
    ["just started → the observed range without its extremes", { created_at: at(0), preparations }, range(10, 90)],
    [
      "after 35 s → the longer observations minus the elapsed time",
      { created_at: at(-35_000), preparations },
      range(5, 65),
    ],
    ["longer than all observations → null", { created_at: at(-101_000), preparations }, null],
    [
      "start in the future, from a clock that was ahead → as just started",
      { created_at: at(HOUR_MS), preparations },
      range(10, 90),
    ],
  ])("%s", (_name, active, expected) => {
    expect(estimate(active)).toEqual(expected);
  });

  it("prepared and outside its windows → until the next one opens", () => {
    const scheduled = { readiness_mode: "scheduled" as const, windows: later };
    expect(estimate({ activated_at: at(-1), endpoints: on(healthy) }, scheduled)).toEqual(range(3600, 3600));
  });

  it("not prepared and outside its windows → the later of both, null if one is unknown", () => {
    const scheduled = { readiness_mode: "scheduled" as const, windows: later };
    expect(estimate({ created_at: at(0), preparations: [10, 5000] }, scheduled)).toEqual(range(3600, 5000));
    expect(estimate({ created_at: at(0), preparations: [] }, scheduled)).toBeNull();
  });

  it("ready, degraded, blocked → null", () => {
    const views = [
      fleet({ active: generation({ preparations }) }),
      fleet({ active: generation({ preparations, endpoints: on(failing) }) }),
      fleet({ active: generation({ preparations }), members: [group({ obstacle: needsWrist })] }),
    ].map((facts) => deriveFleet(assessFleet(facts, NOW_MS)));
    expect(views.map(({ status }) => status)).toEqual(["ready", "degraded", "blocked"]);
    expect(views.map(({ readiness_estimate: readinessEstimate }) => readinessEstimate)).toEqual([null, null, null]);
  });
});

describe("deriveFleet: any stored facts", () => {
  const endpoint = fc.record({
    health: fc.constantFrom("unknown", "healthy", "failing"),
    health_since: fc.option(fc.constantFrom(at(-90_000), at(-1000)), { nil: null }),
    last_probed_at: fc.option(fc.constantFrom(at(-90_000), at(-1000), at(HOUR_MS)), { nil: null }),
    last_error: fc.option(fc.constant("HTTP 503"), { nil: null }),
  });
  const region = fc.constantFrom("eu", "us", "moon");
  const generations = (id: string) =>
    fc.record({
      id: fc.constant(id),
      subject: fc.constantFrom("pi0.5", "pi1"),
      checkpoint_id: fc.constantFrom("ckpt_a", "ckpt_b"),
      model_slug: fc.constant("pi"),
      requirements: fc.constant('{"kind":"robots","selector":null}'),
      created_at: fc.constantFrom(at(-60_000), at(0), at(HOUR_MS)),
      activated_at: fc.option(fc.constant(at(-1000)), { nil: null }),
      endpoints: fc.array(fc.tuple(region, endpoint)).map((pairs) => new Map(pairs)),
      preparations: fc.array(fc.nat(1000), { maxLength: 20 }).map((all) => all.toSorted((a, b) => a - b)),
    });
  const obstacle = fc.option(fc.constant(needsWrist), { nil: null });
  const members = fc.array(
    fc.record({
      count: fc.integer({ min: 1, max: 50 }),
      example: fc.string(),
      region,
      isRemoved: fc.boolean(),
      isOffline: fc.boolean(),
      deployment: fc.constantFrom("active", "inactive", "none"),
      obstacle,
      updateObstacle: obstacle,
    }),
    { maxLength: 8 },
  );
  const facts: fc.Arbitrary<FleetFacts> = fc.record({
    id: fc.constant("fleet_1"),
    name: fc.string(),
    readiness_mode: fc.constantFrom("always_ready", "scheduled", "on_demand"),
    peak_active_robots: fc.integer({ min: 1, max: 60 }),
    selection: fc.constant('{"kind":"robots","selector":null}'),
    created_at: fc.constant(at(0)),
    windows: fc.constantFrom(within, later, past, [...past, ...later]),
    active: generations("gen_1"),
    update: fc.option(generations("gen_2"), { nil: null }),
    members,
  });

  it("view: valid by its schema and consistent", () => {
    fc.assert(
      fc.property(facts, (given) => {
        const view = deriveFleet(assessFleet(given, NOW_MS));
        fleetViewSchema.strict().parse(view);
        const { registered, ready, active, waiting, blocked } = view.robots;
        expect(ready + active + waiting + blocked).toBe(registered);
        expect(registered).toBe(given.members.reduce((sum, { count }) => sum + count, 0));
        expect(ready + active).toBeLessThanOrEqual(Math.max(given.peak_active_robots, active));
        expect(view.blocker !== null).toBe(view.status === "blocked");
        if (view.update !== null) expect(view.update.blocker !== null).toBe(view.update.status === "blocked");
        const { needs, waiting: byCause } = deriveNeeds(assessFleet(given, NOW_MS));
        expect(byCause.endpoint + byCause.window + byCause.peak + byCause.robot).toBe(waiting);
        if (view.status === "blocked" || view.update?.status === "blocked") expect(needs).not.toEqual([]);
        if (view.status === "degraded") expect(needs).not.toEqual([]);
        if (view.status !== "preparing") expect(view.readiness_estimate).toBeNull();
        const { lower_seconds: lowerSeconds = 0, upper_seconds: upperSeconds = 0 } = view.readiness_estimate ?? {};
        expect(lowerSeconds).toBeLessThanOrEqual(upperSeconds);
        if (view.status === "ready") expect([blocked, given.active.activated_at === null]).toEqual([0, false]);
      }),
      { numRuns: times(200, 2000) },
    );
  });

  it("each member has one state; their numbers equal the counts of the view", () => {
    fc.assert(
      fc.property(facts, (given) => {
        const members = given.members.map((member, index) => ({
          ...member,
          count: 1,
          robot_id: `rob_${index}`,
          robot_type_id: "arm",
          site: null,
        }));
        const whole = { ...given, members, generations: [] };
        const { registered: _registered, ...counts } = deriveFleet(assessFleet(whole, NOW_MS)).robots;
        const details = deriveDetails(whole, NOW_MS).members;
        for (const [state, count] of Object.entries(counts)) {
          expect(details.filter((member) => member.state === state)).toHaveLength(count);
        }
        for (const { state, reason } of details)
          expect(reason !== null).toBe(state === "waiting" || state === "blocked");
      }),
      { numRuns: times(200, 2000) },
    );
  });

  it("activation: happens once, and only a healthy generation becomes active", () => {
    fc.assert(
      fc.property(facts, (given) => {
        const next = nextActive(assessFleet(given, NOW_MS));
        if (next === null) return;
        const generationFacts = { ...next.generation, activated_at: at(0) };
        const promoted = next.generation === given.update;
        const after = {
          ...given,
          active: generationFacts,
          update: promoted ? null : given.update,
          members: promoted
            ? given.members.map((member) => ({ ...member, obstacle: member.updateObstacle }))
            : given.members,
        };
        expect(nextActive(assessFleet(after, NOW_MS))).toBeNull();
        expect([...generationFacts.endpoints.values()].some(({ health }) => health === "healthy")).toBe(true);
        expect(deriveFleet(assessFleet(after, NOW_MS)).active_model.status).toBe("active");
      }),
      { numRuns: times(200, 2000) },
    );
  });
});
