import { describe, expect } from "vitest";

import { COLD, DEAD, OTHER_REGION, PICKY, REGION, ROBOT_TYPE, STEADY } from "./catalog.ts";
import type { Client, Loc } from "./client.ts";
import { enroll } from "./enrolments/enrolling.ts";
import { createFleet, fleetOf, readyFleet, untilFleet, updateFleet, windowOf, withRobots } from "./fleets.ts";
import { register, setupOf } from "./registering.ts";
import type { Tests } from "./tests.ts";
import type { FleetView } from "./views.ts";
import { soon } from "./waiting.ts";

const UNKNOWN_FLEET = "fleet_00000000000000000000000000";

const detailsOf = (client: Client, { id }: FleetView) => client.call("getFleetDetails", { path: { fleet_id: id } });

/** Number of members in each state. */
function count(members: readonly { readonly state: string }[]) {
  const of = (state: string) => members.filter((member) => member.state === state).length;
  return {
    registered: members.length,
    ready: of("ready"),
    active: of("active"),
    waiting: of("waiting"),
    blocked: of("blocked"),
  };
}

/** Operations for operators that the service document does not have: details, needs and previews of fleets. */
export function fleetDetailsConformance({ target, it, itOnce }: Tests): void {
  describe("fleet details", () => {
    it("ready fleet → its selection, members, generation and endpoints", async ({ client }) => {
      const [first, second] = await register(client, ["r1", "r2"], { site: "lab" });
      const body = fleetOf("f", { peak_active_robots: 2, selection: { selector: { site: "lab" } } });
      const fleet = await untilFleet(client, await client.call("createFleet", { body }), { status: "ready" });
      const details = await detailsOf(client, fleet);
      expect(details).toMatchObject({
        updated_at: null,
        operating_windows: [],
        selection: { kind: "selector", selector: { site: "lab", region: null, robot_type_id: null, labels: {} } },
        generations: [{ ...fleet.active_model, activated_at: expect.any(String), blocker: null }],
        endpoints: [
          { generation_id: fleet.active_model?.generation_id, region: REGION, status: "healthy", detail: null },
        ],
      });
      expect(details.members).toEqual(
        [first, second].map((robot) => ({
          robot_id: robot?.id,
          robot: robot?.name,
          robot_type_id: ROBOT_TYPE,
          region: REGION,
          site: "lab",
          state: "ready",
          waiting_for: null,
          reason: null,
        })),
      );
      expect(JSON.stringify(details)).not.toContain("127.0.0.1");
    });

    it("an enrolled member that is offline is not ready, and is once it reports", async ({ equipped: client }) => {
      const robots = ["arm-1", "arm-2"];
      const computers = [];
      for (const name of robots) {
        const computer = await enroll(client, { requested_name: name });
        await client.as(computer.token).call("setupRobot", { body: setupOf(name) });
        computers.push(computer);
      }
      const [first, second] = computers;
      await first?.heartbeat();
      const fleet = await createFleet(client, "f", { peak_active_robots: 2, selection: { robots } });
      await untilFleet(client, fleet, { status: "ready", robots: { registered: 2, ready: 1, waiting: 1 } });
      const { members, waiting } = await detailsOf(client, fleet);
      expect(members).toMatchObject([
        { robot: "arm-1", status: "online", state: "ready", reason: null },
        {
          robot: "arm-2",
          status: "offline",
          state: "waiting",
          waiting_for: "robot",
          reason: expect.stringMatching(/offline/),
        },
      ]);
      expect(waiting).toEqual({ endpoint: 0, window: 0, peak: 0, robot: 1 });
      await second?.heartbeat();
      await untilFleet(client, fleet, { robots: { ready: 2, waiting: 0 } });
    });

    it("selection → as requested", async ({ equipped: client }) => {
      const named = await createFleet(client, "named");
      expect((await detailsOf(client, named)).selection).toEqual({ kind: "robots", selector: null });
      await register(client, ["r3"], { labels: { "größe 🤖": '"' } });
      const selector = { region: REGION, labels: { "größe 🤖": '"' } };
      const matched = await createFleet(client, "matched", { selection: { selector } });
      expect((await detailsOf(client, matched)).selection).toEqual({
        kind: "selector",
        selector: { site: null, robot_type_id: null, ...selector },
      });
    });

    it("endpoint fails → robots wait, with the endpoint and its error", async ({ equipped: client }) => {
      const fleet = await createFleet(client, "f", { subject: DEAD.slug });
      const reasons = async () => (await detailsOf(client, fleet)).members.map(({ reason }) => reason);
      const reason = expect.stringMatching(
        /^The endpoint in us-west-2 has been unhealthy since \d{4}-\d\d-\d\dT[\d:.]+Z: .*503.*\.$/,
      );
      await soon(async () => expect(await reasons()).toEqual([reason, reason]));
      const { endpoints } = await detailsOf(client, fleet);
      expect(endpoints).toMatchObject([
        { region: REGION, status: "unhealthy", detail: expect.stringContaining("503") },
      ]);
    });

    it("outside the operating windows → robots wait, with the next start", async ({ equipped: client }) => {
      const operatingWindows = [windowOf(9, 10), windowOf(5, 6)];
      const fleet = await createFleet(client, "f", {
        readiness_mode: "scheduled",
        operating_windows: operatingWindows,
      });
      const details = await detailsOf(client, fleet);
      expect(details.operating_windows).toEqual(operatingWindows.toReversed());
      const reason = `The fleet is outside its operating windows until ${operatingWindows[1]?.starts_at}.`;
      expect(details.members).toMatchObject([
        { state: "waiting", waiting_for: "window", reason },
        { state: "waiting", waiting_for: "window", reason },
      ]);
    });

    it("robots deployed → members match the counts of the fleet", async ({ equipped: client }) => {
      const fleet = await createFleet(client, "f");
      const idle = await untilFleet(client, fleet, { status: "ready", robots: { ready: 1, waiting: 1 } });
      const atRest = await detailsOf(client, fleet);
      expect(count(atRest.members)).toEqual(idle.robots);
      expect(atRest.members[1]).toMatchObject({ state: "waiting", waiting_for: "peak" });
      await client.call("createDeployment", { body: { model: STEADY.slug, robot: "r2" } });
      const busy = await untilFleet(client, fleet, { robots: { active: 1, ready: 0, waiting: 1 } });
      const atWork = await detailsOf(client, fleet);
      expect(count(atWork.members)).toEqual(busy.robots);
      expect(atWork.members).toMatchObject([{ state: "waiting" }, { state: "active", reason: null }]);
    });

    it("generations → newest first, past ones superseded; endpoints also of a pending update", async ({
      equipped: client,
    }) => {
      const fleet = await readyFleet(client, "f");
      await updateFleet(client, fleet, COLD.slug);
      const { update } = await updateFleet(client, fleet, DEAD.slug);
      await untilFleet(client, fleet, { update: { status: "preparing" } });
      const { generations, endpoints, updated_at: updatedAt } = await detailsOf(client, fleet);
      expect(generations).toMatchObject([
        { generation_id: update?.generation_id, subject: DEAD.slug, status: "preparing", activated_at: null },
        { subject: COLD.slug, status: "superseded", activated_at: null, blocker: null },
        { ...fleet.active_model, status: "active" },
      ]);
      expect(updatedAt).toBe(generations[0]?.created_at);
      expect(endpoints.map(({ generation_id: generationId }) => generationId)).toEqual([
        fleet.active_model?.generation_id,
        update?.generation_id,
      ]);
    });

    it.each([UNKNOWN_FLEET, "f", "preview", "fleet_\u0000"])("details of %j → 404", async (fleetId) => {
      const client = await target().organization();
      await client.refused("NotFound", "getFleetDetails", { path: { fleet_id: fleetId } });
    });
  });

  describe("needs of fleets", () => {
    it("list → the same as the details of each fleet", async ({ equipped: client }) => {
      await register(client, ["r3"], { robot_type_id: "wheelbarrow" });
      const robots = ["r1", "r2", "r3"];
      const well = await createFleet(client, "well");
      const body = fleetOf("picky", { subject: PICKY.slug, selection: { robots } });
      const picky = await client.call("createFleet", { body });
      await untilFleet(client, well, { status: "ready" });
      await untilFleet(client, picky, { status: "degraded", robots: { ready: 1, waiting: 1, blocked: 1 } });
      const { items } = await client.call("listFleetNeeds");
      const waiting = { endpoint: 0, window: 0, peak: 1, robot: 0 };
      expect(items).toEqual([
        { fleet_id: well.id, needs: [], waiting },
        {
          fleet_id: picky.id,
          needs: [{ reason: expect.stringContaining("1 of 3 robots cannot run"), action: expect.any(String) }],
          waiting,
        },
      ]);
      for (const { fleet_id: fleetId, ...listed } of items) {
        expect(await client.call("getFleetDetails", { path: { fleet_id: fleetId } })).toMatchObject(listed);
      }
    });
  });

  describe("fleet preview", () => {
    it("robots without a subject → the robots in the order of the request, not matched against a model", async ({
      client,
    }) => {
      const [first, second] = await register(client, ["r1", "r2"], { site: "lab" });
      const { robots, total } = await client.call("previewFleet", { body: { robots: [second?.id, "r1"] } });
      expect(total).toBe(2);
      expect(robots).toEqual(
        [second, first].map((robot) => ({
          robot_id: robot?.id,
          robot: robot?.name,
          robot_type_id: ROBOT_TYPE,
          region: REGION,
          site: "lab",
          fits: null,
          reason: null,
        })),
      );
    });

    it("selector → the robots that a fleet with it has", async ({ client }) => {
      await register(client, ["r1", "r2"], { labels: { team: "a" } });
      await register(client, ["r3"], { labels: { team: "b" } });
      const selector = { labels: { team: "a" } };
      const { robots } = await client.call("previewFleet", { body: { selector, robots: null, subject: null } });
      const fleet = await createFleet(client, "f", { selection: { selector } });
      const { members } = await detailsOf(client, fleet);
      expect(robots.map(({ robot_id: robotId }) => robotId)).toEqual(members.map(({ robot_id: robotId }) => robotId));
    });

    it("with a subject → whether each robot fits, or why not", async ({ client }) => {
      await register(client, ["fits"]);
      await register(client, ["wheelbarrow"], { robot_type_id: "wheelbarrow" });
      await register(client, ["far"], { region: OTHER_REGION });
      const body = { robots: ["fits", "wheelbarrow", "far"], subject: PICKY.checkpoint };
      const judged = async () => {
        const { robots } = await client.call("previewFleet", { body });
        return robots.map(({ fits, reason }) => [fits, reason]);
      };
      // Wait until the endpoint was probed.
      await soon(async () =>
        expect(await judged()).toEqual([
          [true, null],
          [false, `${PICKY.checkpoint} needs a robot of type ${ROBOT_TYPE}; the robot is wheelbarrow.`],
          [false, `${PICKY.checkpoint} has no endpoint in the robot's region ${OTHER_REGION}.`],
        ]),
      );
    });

    const expectInvalid = async (_what: string, body: unknown, locs: readonly Loc[]) => {
      const client = await withRobots(target());
      const where = locs.map((loc) => ["body", ...loc]);
      await client.invalid(where, "previewFleet", { body });
    };

    it.each<[what: string, body: unknown, locs: readonly Loc[]]>([
      ["unknown robots", { robots: ["x", "r1"] }, [["robots", 0]]],
      ["a robot twice", { robots: ["r1", "r1"] }, [["robots", 1]]],
      ["a selector that matches nothing", { selector: { site: "nowhere" } }, [["selector"]]],
      ["an unknown subject", { robots: ["r1"], subject: "no-such-model" }, [["subject"]]],
      [
        "unknown robots and an unknown subject",
        { robots: ["x"], subject: "no-such-model" },
        [["robots", 0], ["subject"]],
      ],
    ])("preview with %s → 422", expectInvalid);

    itOnce.each<[what: string, body: unknown, locs: readonly Loc[]]>([
      ["neither robots nor selector", {}, [[]]],
      ["robots and a selector", { robots: ["r1"], selector: { site: "s" } }, [[]]],
      ["an empty selector", { selector: {} }, [["selector"]]],
      ["an unknown member", { robots: ["r1"], name: "f" }, [["name"]]],
    ])("preview with %s → 422", expectInvalid);

    it("creates nothing, and needs no write scope", async ({ equipped: client }) => {
      const reader = await client.withKey({ scopes: ["robots:read"] });
      await reader.call("previewFleet", { body: { robots: ["r1"] } });
      expect(await client.call("listFleets")).toEqual([]);
      const { status } = await client.send("previewFleet", { method: "GET" });
      expect(status).toBe(405);
    });
  });
}
