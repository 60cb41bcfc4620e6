import { describe, expect, it } from "vitest";

import { COLD, DEAD, OTHER_REGION, PICKY, ROBOT_TYPE, STEADY } from "./catalog.ts";
import type { Client, Loc } from "./client.ts";
import { register, setupOf } from "./robots.ts";
import type { ItOnce, Target } from "./target.ts";
import type { FleetView } from "./views.ts";
import { soon } from "./waiting.ts";

type Members = Readonly<Record<string, unknown>>;

/** A fleet of the robots r1 and r2. */
export function fleetOf(name: string, rest: Members = {}) {
  return {
    name,
    subject: STEADY.slug,
    selection: { robots: ["r1", "r2"] },
    peak_active_robots: 1,
    readiness_mode: "always_ready",
    ...rest,
  };
}

/** The same, and both may be active at once. */
function fleetOfBoth(name: string, rest: Members = {}) {
  return fleetOf(name, { peak_active_robots: 2, ...rest });
}

/** An organization with the robots r1 and r2. */
export async function withRobots(target: Target): Promise<Client> {
  const client = await target.organization();
  await register(client, ["r1", "r2"]);
  return client;
}

/** Looks at a fleet until it is as it should be. */
export async function untilFleet(client: Client, { id }: FleetView, expected: object): Promise<FleetView> {
  return soon(async () => {
    const fleet = await client.call("getFleet", { path: { fleet_id: id } });
    expect(fleet).toMatchObject(expected);
    return fleet;
  });
}

export const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
export const windowOf = (from: number, to: number) => ({ starts_at: inHours(from), ends_at: inHours(to) });

export function fleetsConformance(target: () => Target, itOnce: ItOnce): void {
  describe("fleets", () => {
    it("create answers the view that get and list answer", async () => {
      const client = await withRobots(target());
      const created = await client.call("createFleet", { body: fleetOfBoth("line 1 🤖") });
      expect(created).toMatchObject({
        name: "line 1 🤖",
        subject: STEADY.slug,
        readiness_mode: "always_ready",
        peak_active_robots: 2,
        robots: { registered: 2 },
        active_model: { subject: STEADY.slug },
        update: null,
      });
      const ready = await untilFleet(client, created, { status: "ready" });
      expect(ready).toEqual({
        ...created,
        status: "ready",
        blocker: null,
        readiness_estimate: null,
        robots: { registered: 2, ready: 2, active: 0, waiting: 0, blocked: 0 },
        active_model: { ...created.active_model, status: "active" },
      });
      expect(await client.call("listFleets")).toEqual([ready]);
    });

    it("list: oldest first", async () => {
      const client = await withRobots(target());
      for (const name of ["c", "a", "b"]) await client.call("createFleet", { body: fleetOf(name) });
      expect((await client.call("listFleets")).map(({ name }) => name)).toEqual(["c", "a", "b"]);
    });

    it("create takes names and ids, of one fleet or several", async () => {
      const client = await target().organization();
      const [first, second] = await register(client, ["r1", "r2"]);
      const robots = [first?.name, second?.id];
      for (const name of ["f1", "f2"]) {
        const created = await client.call("createFleet", { body: fleetOf(name, { selection: { robots } }) });
        expect(created.robots.registered).toBe(2);
      }
    });

    it("create takes a checkpoint as a subject, and shows what was written", async () => {
      const client = await withRobots(target());
      const { subject, active_model: activeModel } = await client.call("createFleet", {
        body: fleetOf("f", { subject: STEADY.oldest }),
      });
      expect([subject, activeModel?.subject]).toEqual([STEADY.oldest, STEADY.oldest]);
    });

    it.each<[what: string, selector: Members, members: number]>([
      ["site", { site: "lab" }, 2],
      ["region", { region: OTHER_REGION }, 1],
      ["type", { robot_type_id: ROBOT_TYPE }, 3],
      ["one label", { labels: { team: "a" } }, 2],
      ["all labels", { labels: { team: "a", arm: "left" } }, 1],
      ["an empty label", { labels: { arm: "" } }, 1],
      ["site and label", { site: "lab", labels: { team: "a" } }, 1],
      ["null beside a filter", { site: "lab", region: null, robot_type_id: null }, 2],
      ["no label beside a filter", { site: "lab", labels: {} }, 2],
      ["a site of quotes", { site: `'"%_\\` }, 1],
      ["a label that JSON escapes", { labels: { 'ключ"': "\\/\t🤖" } }, 1],
    ])("a selector takes those that match: %s", async (_what, selector, members) => {
      const client = await target().organization();
      await register(client, ["r1"], { site: "lab", labels: { team: "a", arm: "left" } });
      await register(client, ["r2"], { site: "lab", labels: { team: "b", arm: "" } });
      await register(client, ["r3"], { site: "Lab", region: OTHER_REGION, labels: { team: "a", 'ключ"': "\\/\t🤖" } });
      await register(client, ["r4"], { site: `'"%_\\`, region: "x", robot_type_id: "other" });
      const body = fleetOf("f", { selection: { selector } });
      expect((await client.call("createFleet", { body })).robots.registered).toBe(members);
    });

    it("a selector with a label called as a part of JavaScript takes those that have it", async () => {
      const client = await target().organization();
      await register(client, ["r1"]);
      const setup = JSON.stringify(setupOf("r2")).slice(0, -1);
      await client.call("setupRobot", { body: `${setup},"labels":{"__proto__":"x"}}` });
      const body = JSON.stringify(fleetOf("f", { selection: { selector: { labels: { LABELS: 0 } } } }));
      const withLabel = (value: string) => body.replace('"LABELS":0', `"__proto__":"${value}"`);
      expect((await client.call("createFleet", { body: withLabel("x") })).robots.registered).toBe(1);
      await client.invalid([["body", "selection", "selector"]], "createFleet", { body: withLabel("y") });
    });

    const refuseSelection = async (_what: string, selection: unknown, locs: readonly Loc[]) => {
      const client = await withRobots(target());
      const where = locs.map((loc) => ["body", "selection", ...loc]);
      await client.invalid(where, "createFleet", { body: fleetOf("f", { selection }) });
      expect(await client.call("listFleets")).toEqual([]);
    };

    it.each<[what: string, selection: unknown, locs: readonly Loc[]]>([
      [
        "robots that do not exist",
        { robots: ["x", "r1", "y"] },
        [
          ["robots", 0],
          ["robots", 2],
        ],
      ],
      ["the id of nobody", { robots: ["rob_00000000000000000000000000"] }, [["robots", 0]]],
      ["a robot twice", { robots: ["r1", "r2", "r1"] }, [["robots", 2]]],
      ["a name with NUL", { robots: ["r1\0"] }, [["robots", 0]]],
      ["a selector that matches nothing", { selector: { site: "nowhere" } }, [["selector"]]],
    ])("create refuses %s", refuseSelection);

    itOnce.each<[what: string, selection: unknown, locs: readonly Loc[]]>([
      ["neither robots nor selector", {}, [[]]],
      ["both of them null", { robots: null, selector: null }, [[]]],
      ["robots and a selector", { robots: ["r1"], selector: { site: "s" } }, [[]]],
      ["no robots", { robots: [] }, [["robots"]]],
      ["more than 1000 robots", { robots: Array.from({ length: 1001 }, (_, index) => `r${index}`) }, [["robots"]]],
      ["an empty name", { robots: [""] }, [["robots", 0]]],
      ["an empty selector", { selector: {} }, [["selector"]]],
      ["a selector of nulls", { selector: { site: null, labels: {} } }, [["selector"]]],
      ["a selector it does not know", { selector: { name: "r1" } }, [["selector", "name"]]],
      ["another membership", { robots: ["r1"], membership: "live" }, [["membership"]]],
      [
        "too many labels",
        { selector: { labels: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`l${index}`, ""])) } },
        [["selector", "labels"]],
      ],
    ])("create refuses %s", refuseSelection);

    it("create refuses one robot under its name and its id", async () => {
      const client = await target().organization();
      const [robot] = await register(client, ["r1"]);
      const body = fleetOf("f", { selection: { robots: ["r1", robot?.id] } });
      await client.invalid([["body", "selection", "robots", 1]], "createFleet", { body });
    });

    const refuse = async (_what: string, rest: Members, locs: readonly Loc[]) => {
      const client = await withRobots(target());
      const where = locs.map((loc) => ["body", ...loc]);
      await client.invalid(where, "createFleet", { body: fleetOf("f", rest) });
      expect(await client.call("listFleets")).toEqual([]);
    };

    it.each<[what: string, rest: Members, locs: readonly Loc[]]>([
      ["a subject that does not exist", { subject: "no-such-model" }, [["subject"]]],
      ["a checkpoint that does not exist", { subject: "ckpt_none" }, [["subject"]]],
      ["a peak beyond its members", { peak_active_robots: 3 }, [["peak_active_robots"]]],
    ])("create refuses %s", refuse);

    itOnce.each<[what: string, rest: Members, locs: readonly Loc[]]>([
      ["an empty subject", { subject: "" }, [["subject"]]],
      ["a name of 129", { name: "x".repeat(129) }, [["name"]]],
      ["an empty name", { name: "" }, [["name"]]],
      ["a peak of none", { peak_active_robots: 0 }, [["peak_active_robots"]]],
      ["a mode it does not know", { readiness_mode: "never" }, [["readiness_mode"]]],
      ["members it does not know", { zeta: 1, alpha: 2 }, [["zeta"], ["alpha"]]],
      ["a schedule without windows", { readiness_mode: "scheduled" }, [["operating_windows"]]],
      ["windows without a schedule", { operating_windows: [windowOf(1, 2)] }, [["operating_windows"]]],
      [
        "a window that ends before it starts",
        { readiness_mode: "scheduled", operating_windows: [windowOf(2, 1)] },
        [["operating_windows", 0, "ends_at"]],
      ],
      [
        "a window of no length",
        {
          readiness_mode: "scheduled",
          operating_windows: [{ starts_at: "2098-01-01T00:00:00Z", ends_at: "2098-01-01T01:00:00+01:00" }],
        },
        [["operating_windows", 0, "ends_at"]],
      ],
      [
        "windows that overlap",
        { readiness_mode: "scheduled", operating_windows: [windowOf(1, 3), windowOf(2, 4)] },
        [["operating_windows", 1]],
      ],
      [
        "windows that are all past",
        { readiness_mode: "scheduled", operating_windows: [windowOf(-4, -3), windowOf(-2, -1)] },
        [["operating_windows"]],
      ],
      [
        "a window without a time zone",
        {
          readiness_mode: "scheduled",
          operating_windows: [{ starts_at: "2098-01-01T00:00:00", ends_at: "2098-01-02T00:00:00Z" }],
        },
        [["operating_windows", 0, "starts_at"]],
      ],
    ])("create refuses %s", refuse);

    it("create takes 366 windows that follow each other, in any order", async () => {
      const client = await withRobots(target());
      const operatingWindows = Array.from({ length: 366 }, (_, index) => windowOf(index, index + 1)).toReversed();
      const body = fleetOf("f", { readiness_mode: "scheduled", operating_windows: operatingWindows });
      expect(await client.call("createFleet", { body })).toMatchObject({ readiness_mode: "scheduled" });
      await client.invalid([["body", "operating_windows"]], "createFleet", {
        body: { ...body, name: "g", operating_windows: [...operatingWindows, windowOf(400, 401)] },
      });
    });

    it("create refuses a name that is taken, and takes it in another organization", async () => {
      const client = await withRobots(target());
      await client.call("createFleet", { body: fleetOf("f") });
      expect(await client.refused("Conflict", "createFleet", { body: fleetOf("f") })).toContain("f");
      await (await withRobots(target())).call("createFleet", { body: fleetOf("f") });
    });

    it("create of one name many times at once makes one fleet", async () => {
      const client = await withRobots(target());
      const sent = Array.from({ length: 10 }, () => client.send("createFleet", { body: fleetOf("f") }));
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
      expect(await client.call("listFleets")).toHaveLength(1);
    });

    it("the members are those of the moment it was created", async () => {
      const client = await target().organization();
      await register(client, ["r1", "r2"], { site: "lab" });
      const body = fleetOfBoth("f", { selection: { selector: { site: "lab" } } });
      const fleet = await client.call("createFleet", { body });
      await register(client, ["r3"], { site: "lab" });
      await register(client, ["r1"], { site: "elsewhere", labels: { moved: "yes" } });
      expect(await untilFleet(client, fleet, { status: "ready" })).toMatchObject({
        robots: { registered: 2, ready: 2 },
      });
    });

    it("a fleet whose endpoint never answered is preparing, and its robots wait", async () => {
      const client = await withRobots(target());
      const fleet = await client.call("createFleet", { body: fleetOf("f", { subject: DEAD.slug }) });
      const before = target().inference.probes(DEAD.endpoint);
      await soon(async () => expect(target().inference.probes(DEAD.endpoint)).toBeGreaterThan(before + 2));
      expect(await client.call("getFleet", { path: { fleet_id: fleet.id } })).toMatchObject({
        status: "preparing",
        blocker: null,
        robots: { waiting: 2 },
        active_model: { status: "preparing" },
      });
    });

    it("a fleet of robots its model cannot drive is blocked, and says by what", async () => {
      const client = await target().organization();
      await register(client, ["r1", "r2"], { robot_type_id: "wheelbarrow" });
      const fleet = await client.call("createFleet", { body: fleetOfBoth("f", { subject: PICKY.slug }) });
      expect(fleet).toMatchObject({ status: "blocked", robots: { blocked: 2 }, active_model: { status: "blocked" } });
      expect(fleet.blocker).toContain(ROBOT_TYPE);
      await register(client, ["r1", "r2"]);
      await untilFleet(client, fleet, { status: "ready", blocker: null, robots: { ready: 2, blocked: 0 } });
    });

    it("a fleet where no endpoint is near is blocked", async () => {
      const client = await target().organization();
      await register(client, ["r1", "r2"], { region: "moon" });
      const fleet = await client.call("createFleet", { body: fleetOf("f") });
      expect(fleet).toMatchObject({ status: "blocked", robots: { blocked: 2 } });
      expect(fleet.blocker).toContain("moon");
    });

    it("a fleet is degraded while some of its robots are blocked", async () => {
      const client = await withRobots(target());
      await register(client, ["r2"], { robot_type_id: "wheelbarrow" });
      const fleet = await client.call("createFleet", { body: fleetOf("f", { subject: PICKY.slug }) });
      await untilFleet(client, fleet, { status: "degraded", blocker: null, robots: { ready: 1, blocked: 1 } });
    });

    it("a scheduled fleet outside its windows is preparing, and estimates when not", async () => {
      const client = await withRobots(target());
      const body = fleetOf("f", { readiness_mode: "scheduled", operating_windows: [windowOf(5, 6)] });
      const { status, robots, readiness_estimate: readinessEstimate } = await client.call("createFleet", { body });
      expect([status, robots]).toEqual(["preparing", { registered: 2, ready: 0, active: 0, waiting: 2, blocked: 0 }]);
      if (readinessEstimate !== null) {
        expect(readinessEstimate.lower_seconds).toBeGreaterThan(4.9 * 3600);
        expect(readinessEstimate.lower_seconds).toBeLessThanOrEqual(5 * 3600);
      }
    });

    it("a scheduled fleet within a window is ready", async () => {
      const client = await withRobots(target());
      const operatingWindows = [windowOf(-2, -1), windowOf(-0.5, 1)];
      const body = fleetOf("f", { readiness_mode: "scheduled", operating_windows: operatingWindows });
      await untilFleet(client, await client.call("createFleet", { body }), { status: "ready" });
    });

    it("a robot that serves is active, the others wait where the peak is reached", async () => {
      const client = await withRobots(target());
      const fleet = await client.call("createFleet", { body: fleetOf("f") });
      await untilFleet(client, fleet, { status: "ready", robots: { registered: 2, active: 0, ready: 1, waiting: 1 } });
      const deployment = await client.call("createDeployment", { body: { model: STEADY.slug, robot: "r1" } });
      await untilFleet(client, fleet, { robots: { registered: 2, active: 1, ready: 0, waiting: 1 } });
      await client.call("retireDeployment", { path: { deployment_id: deployment.id } });
      await untilFleet(client, fleet, { robots: { registered: 2, active: 0, ready: 1, waiting: 1 } });
    });

    it("a model update replaces the model once its endpoints are healthy", async () => {
      const client = await withRobots(target());
      const created = await client.call("createFleet", { body: fleetOf("f", { subject: STEADY.oldest }) });
      const before = await untilFleet(client, created, { status: "ready" });
      const path = { fleet_id: before.id };
      const asked = await client.call("updateFleetModel", { path, body: { subject: STEADY.slug, more: 1 } });
      expect(asked).toMatchObject({
        active_model: before.active_model,
        update: { subject: STEADY.slug, blocker: null },
      });
      const after = await untilFleet(client, before, { status: "ready", subject: STEADY.slug, update: null });
      expect(after.active_model).toEqual({
        subject: STEADY.slug,
        generation_id: asked.update?.generation_id,
        status: "active",
      });
    });

    it("an update that cannot be prepared leaves the old model serving", async () => {
      const client = await withRobots(target());
      const before = await untilFleet(client, await client.call("createFleet", { body: fleetOf("f") }), {
        status: "ready",
      });
      const path = { fleet_id: before.id };
      const { update } = await client.call("updateFleetModel", { path, body: { subject: DEAD.slug } });
      const later = await untilFleet(client, before, { update: { ...update, status: "preparing" } });
      expect(later).toMatchObject({ status: "ready", active_model: before.active_model, robots: before.robots });
    });

    it("an update that would block a robot is blocked, and says by what", async () => {
      const client = await target().organization();
      await register(client, ["r1", "r2"], { robot_type_id: "wheelbarrow" });
      const before = await untilFleet(client, await client.call("createFleet", { body: fleetOf("f") }), {
        status: "ready",
      });
      const path = { fleet_id: before.id };
      const { update } = await client.call("updateFleetModel", { path, body: { subject: PICKY.slug } });
      expect(update).toMatchObject({ status: "blocked", blocker: expect.stringContaining(ROBOT_TYPE) });
      expect(await client.call("getFleet", { path })).toMatchObject({ status: "ready", blocker: null });
    });

    it("a newer update supersedes the one that waits, and one to what is active cancels it", async () => {
      const client = await withRobots(target());
      const before = await untilFleet(client, await client.call("createFleet", { body: fleetOf("f") }), {
        status: "ready",
      });
      const path = { fleet_id: before.id };
      const first = await client.call("updateFleetModel", { path, body: { subject: DEAD.slug } });
      const again = await client.call("updateFleetModel", { path, body: { subject: DEAD.slug } });
      expect(again.update?.generation_id).toBe(first.update?.generation_id);
      const second = await client.call("updateFleetModel", { path, body: { subject: COLD.slug } });
      expect(second.update).toMatchObject({ subject: COLD.slug });
      expect(second.update?.generation_id).not.toBe(first.update?.generation_id);
      const back = await client.call("updateFleetModel", { path, body: { subject: STEADY.slug } });
      expect(back).toMatchObject({ active_model: before.active_model, update: null });
    });

    it("the subject it has is no update, under its other name too", async () => {
      const client = await withRobots(target());
      const before = await untilFleet(client, await client.call("createFleet", { body: fleetOf("f") }), {
        status: "ready",
      });
      for (const subject of [STEADY.slug, STEADY.newest]) {
        const { active_model: activeModel, update } = await client.call("updateFleetModel", {
          path: { fleet_id: before.id },
          body: { subject },
        });
        expect([activeModel?.generation_id, update]).toEqual([before.active_model?.generation_id, null]);
      }
    });

    it("an update looks at the body, then for the fleet, then for the subject", async () => {
      const client = await withRobots(target());
      const { id } = await client.call("createFleet", { body: fleetOf("f") });
      const nobody = { fleet_id: "fleet_00000000000000000000000000" };
      const subject = [["body", "subject"]];
      await client.invalid(subject, "updateFleetModel", { path: nobody, body: {} });
      await client.refused("NotFound", "updateFleetModel", { path: nobody, body: { subject: "no-such-model" } });
      await client.invalid(subject, "updateFleetModel", { path: { fleet_id: id }, body: { subject: "no-such-model" } });
      await client.invalid(subject, "updateFleetModel", { path: { fleet_id: id }, body: { subject: "" } });
    });

    it("the name of a fleet is not its id", async () => {
      const client = await withRobots(target());
      await client.call("createFleet", { body: fleetOf("f") });
      await client.refused("NotFound", "getFleet", { path: { fleet_id: "f" } });
    });
  });
}
