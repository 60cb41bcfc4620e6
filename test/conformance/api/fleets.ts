import { describe, expect } from "vitest";

import { OTHER_REGION, ROBOT_TYPE, STEADY } from "./catalog.ts";
import type { Client, Loc } from "./client.ts";
import { register } from "./registering.ts";
import type { Target } from "./target.ts";
import type { Tests } from "./tests.ts";
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

/** An organization with the robots r1 and r2. */
export async function withRobots(target: Target): Promise<Client> {
  const client = await target.organization();
  await register(client, ["r1", "r2"]);
  return client;
}

/** Waits until the fleet matches. */
export async function untilFleet(client: Client, { id }: FleetView, expected: object): Promise<FleetView> {
  return soon(async () => {
    const fleet = await client.call("getFleet", { path: { fleet_id: id } });
    expect(fleet).toMatchObject(expected);
    return fleet;
  });
}

export function createFleet(client: Client, name: string, rest: Members = {}): Promise<FleetView> {
  return client.call("createFleet", { body: fleetOf(name, rest) });
}

/** A fleet in which both robots may be active at once. */
export function createFleetOfBoth(client: Client, name: string, rest: Members = {}): Promise<FleetView> {
  return createFleet(client, name, { peak_active_robots: 2, ...rest });
}

export async function readyFleet(client: Client, name: string, rest: Members = {}): Promise<FleetView> {
  return untilFleet(client, await createFleet(client, name, rest), { status: "ready" });
}

export function updateFleet(client: Client, { id }: FleetView, subject: string): Promise<FleetView> {
  return client.call("updateFleetModel", { path: { fleet_id: id }, body: { subject } });
}

export const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
export const windowOf = (from: number, to: number) => ({ starts_at: inHours(from), ends_at: inHours(to) });

export function fleetsConformance({ target, it }: Tests): void {
  describe("fleets", () => {
    it("create, get, list → the same view", async ({ equipped: client }) => {
      const created = await createFleetOfBoth(client, "line 1 🤖");
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

    it("create with names and ids, in several fleets → accepted", async ({ client }) => {
      const [first, second] = await register(client, ["r1", "r2"]);
      const robots = [first?.name, second?.id];
      for (const name of ["f1", "f2"]) {
        const created = await createFleet(client, name, { selection: { robots } });
        expect(created.robots.registered).toBe(2);
      }
    });

    it("create with a checkpoint as subject → shown as requested", async ({ equipped: client }) => {
      const { subject, active_model: activeModel } = await createFleet(client, "f", { subject: STEADY.oldest });
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
      ["a site with special characters", { site: `'"%_\\` }, 1],
      ["a label that JSON must escape", { labels: { 'ключ"': "\\/\t🤖" } }, 1],
    ])("selector by %s → the robots that match", async (_what, selector, members) => {
      const client = await target().organization();
      await register(client, ["r1"], { site: "lab", labels: { team: "a", arm: "left" } });
      await register(client, ["r2"], { site: "lab", labels: { team: "b", arm: "" } });
      await register(client, ["r3"], { site: "Lab", region: OTHER_REGION, labels: { team: "a", 'ключ"': "\\/\t🤖" } });
      await register(client, ["r4"], { site: `'"%_\\`, region: "x", robot_type_id: "other" });
      const body = fleetOf("f", { selection: { selector } });
      expect((await client.call("createFleet", { body })).robots.registered).toBe(members);
    });

    it.each<[what: string, selection: unknown, locs: readonly Loc[]]>([
      [
        "unknown robots",
        { robots: ["x", "r1", "y"] },
        [
          ["robots", 0],
          ["robots", 2],
        ],
      ],
      ["an unknown id", { robots: ["rob_00000000000000000000000000"] }, [["robots", 0]]],
      ["a robot twice", { robots: ["r1", "r2", "r1"] }, [["robots", 2]]],
      ["a name with NUL", { robots: ["r1\0"] }, [["robots", 0]]],
      ["a selector that matches nothing", { selector: { site: "nowhere" } }, [["selector"]]],
    ])("create with %s → 422", async (_what, selection, locs) => {
      const client = await withRobots(target());
      const where = locs.map((loc) => ["body", "selection", ...loc]);
      await client.invalid(where, "createFleet", { body: fleetOf("f", { selection }) });
      expect(await client.call("listFleets")).toEqual([]);
    });

    it("create with one robot by name and by id → 422", async ({ client }) => {
      const [robot] = await register(client, ["r1"]);
      const body = fleetOf("f", { selection: { robots: ["r1", robot?.id] } });
      await client.invalid([["body", "selection", "robots", 1]], "createFleet", { body });
    });

    it.each<[what: string, rest: Members, locs: readonly Loc[]]>([
      ["an unknown subject", { subject: "no-such-model" }, [["subject"]]],
      ["an unknown checkpoint", { subject: "ckpt_none" }, [["subject"]]],
      ["a peak above the number of robots", { peak_active_robots: 3 }, [["peak_active_robots"]]],
    ])("create with %s → 422", async (_what, rest, locs) => {
      const client = await withRobots(target());
      const where = locs.map((loc) => ["body", ...loc]);
      await client.invalid(where, "createFleet", { body: fleetOf("f", rest) });
      expect(await client.call("listFleets")).toEqual([]);
    });

    it("create with an existing name → 409; in another organization → accepted", async ({ equipped: client }) => {
      await createFleet(client, "f");
      expect(await client.refused("Conflict", "createFleet", { body: fleetOf("f") })).toContain("f");
      await (await withRobots(target())).call("createFleet", { body: fleetOf("f") });
    });

    it("concurrent creates with one name → one fleet", async ({ equipped: client }) => {
      const sent = Array.from({ length: 10 }, () => client.send("createFleet", { body: fleetOf("f") }));
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
      expect(await client.call("listFleets")).toHaveLength(1);
    });
  });
}
