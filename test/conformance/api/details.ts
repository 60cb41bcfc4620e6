import { isIP } from "node:net";

import { describe, expect, it } from "vitest";

import { COLD, DEAD, OTHER_REGION, PICKY, REGION, ROBOT_TYPE, STEADY } from "./catalog.ts";
import type { Client, Loc } from "./client.ts";
import { fleetOf, untilFleet, windowOf, withRobots } from "./fleets.ts";
import { DIGEST, register, setupOf } from "./robots.ts";
import type { ItOnce, Target } from "./target.ts";
import type { FleetView } from "./views.ts";
import { soon } from "./waiting.ts";

const OTHER_DIGEST = `sha256:${"1".repeat(64)}`;
const NOBODY = "fleet_00000000000000000000000000";

const detailsOf = (client: Client, { id }: FleetView) => client.call("getFleetDetails", { path: { fleet_id: id } });
const historyOf = async (client: Client, robot: string) =>
  (await client.call("getRobotHistory", { path: { robot } })).items;

/** How many members are in each state. */
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

/** What operators ask about fleets and robots, and the service document does not answer. */
export function detailsConformance(target: () => Target, itOnce: ItOnce): void {
  describe("fleet details", () => {
    it("a fleet that is ready: members, generation and endpoints say so", async () => {
      const client = await target().organization();
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

    it("the selection is told as it was asked for", async () => {
      const client = await withRobots(target());
      const named = await client.call("createFleet", { body: fleetOf("named") });
      expect((await detailsOf(client, named)).selection).toEqual({ kind: "robots", selector: null });
      await register(client, ["r3"], { labels: { "größe 🤖": '"' } });
      const selector = { region: REGION, labels: { "größe 🤖": '"' } };
      const matched = await client.call("createFleet", { body: fleetOf("matched", { selection: { selector } }) });
      expect((await detailsOf(client, matched)).selection).toEqual({
        kind: "selector",
        selector: { site: null, robot_type_id: null, ...selector },
      });
    });

    it("a robot that lacks what the model needs is blocked, and the sentence says what it lacks", async () => {
      const client = await withRobots(target());
      await register(client, ["r2"], { robot_type_id: "wheelbarrow" });
      const fleet = await client.call("createFleet", { body: fleetOf("f", { subject: PICKY.slug }) });
      await untilFleet(client, fleet, { status: "degraded" });
      expect((await detailsOf(client, fleet)).members).toMatchObject([
        { robot: "r1", state: "ready", reason: null },
        {
          robot: "r2",
          state: "blocked",
          reason: `${PICKY.slug} needs a robot of type ${ROBOT_TYPE}; the robot is wheelbarrow.`,
        },
      ]);
    });

    it("a robot with no endpoint near is blocked, and the sentence names its region", async () => {
      const client = await target().organization();
      await register(client, ["r1", "r2"], { region: "moon" });
      const fleet = await client.call("createFleet", { body: fleetOf("f") });
      const { members, generations, endpoints } = await detailsOf(client, fleet);
      expect(members.map(({ reason }) => reason)).toEqual(
        Array.from({ length: 2 }, () => `${STEADY.slug} has no endpoint in the robot's region moon.`),
      );
      expect(generations).toMatchObject([{ status: "blocked", blocker: fleet.blocker }]);
      expect(endpoints).toEqual([]);
    });

    it("a robot waits for an endpoint that fails, and the sentence says which and why", async () => {
      const client = await withRobots(target());
      const fleet = await client.call("createFleet", { body: fleetOf("f", { subject: DEAD.slug }) });
      const reasons = async () => (await detailsOf(client, fleet)).members.map(({ reason }) => reason);
      const told = expect.stringMatching(
        /^The endpoint in us-west-2 has been unhealthy since \d{4}-\d\d-\d\dT[\d:.]+Z: .*503.*\.$/,
      );
      await soon(async () => expect(await reasons()).toEqual([told, told]));
      const { endpoints } = await detailsOf(client, fleet);
      expect(endpoints).toMatchObject([
        { region: REGION, status: "unhealthy", detail: expect.stringContaining("503") },
      ]);
    });

    it("outside the windows robots wait, and the sentence says until when", async () => {
      const client = await withRobots(target());
      const operatingWindows = [windowOf(9, 10), windowOf(5, 6)];
      const body = fleetOf("f", { readiness_mode: "scheduled", operating_windows: operatingWindows });
      const fleet = await client.call("createFleet", { body });
      const details = await detailsOf(client, fleet);
      expect(details.operating_windows).toEqual(operatingWindows.toReversed());
      const reason = `The fleet is outside its operating windows until ${operatingWindows[1]?.starts_at}.`;
      expect(details.members).toMatchObject([
        { state: "waiting", waiting_for: "window", reason },
        { state: "waiting", waiting_for: "window", reason },
      ]);
    });

    it("members add up to the counts of the view while robots begin and end to serve", async () => {
      const client = await withRobots(target());
      const fleet = await client.call("createFleet", { body: fleetOf("f") });
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

    it("generations: newest first, what is over is superseded, and an update has its own endpoints", async () => {
      const client = await withRobots(target());
      const fleet = await untilFleet(client, await client.call("createFleet", { body: fleetOf("f") }), {
        status: "ready",
      });
      const path = { fleet_id: fleet.id };
      await client.call("updateFleetModel", { path, body: { subject: COLD.slug } });
      const { update } = await client.call("updateFleetModel", { path, body: { subject: DEAD.slug } });
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

    it.each([NOBODY, "f", "preview", "fleet_\u0000"])("of %j: 404", async (fleetId) => {
      const client = await target().organization();
      await client.refused("NotFound", "getFleetDetails", { path: { fleet_id: fleetId } });
    });
  });

  describe("what fleets need from a person", () => {
    it("the list and the details of each say it alike", async () => {
      const client = await withRobots(target());
      await register(client, ["r3"], { robot_type_id: "wheelbarrow" });
      const robots = ["r1", "r2", "r3"];
      const well = await client.call("createFleet", { body: fleetOf("well") });
      const body = fleetOf("picky", { subject: PICKY.slug, selection: { robots } });
      const picky = await client.call("createFleet", { body });
      await untilFleet(client, well, { status: "ready" });
      await untilFleet(client, picky, { status: "degraded", robots: { ready: 1, waiting: 1, blocked: 1 } });
      const { items } = await client.call("listFleetNeeds");
      const waiting = { endpoint: 0, window: 0, peak: 1 };
      expect(items).toEqual([
        { fleet_id: well.id, needs: [], waiting },
        {
          fleet_id: picky.id,
          needs: [{ reason: expect.stringContaining("1 of 3 robots cannot run"), action: expect.any(String) }],
          waiting,
        },
      ]);
      for (const { fleet_id: fleetId, ...told } of items) {
        expect(await client.call("getFleetDetails", { path: { fleet_id: fleetId } })).toMatchObject(told);
      }
    });
  });

  describe("fleet preview", () => {
    it("shows who would be taken, in the order they are named, and judges nobody without a subject", async () => {
      const client = await target().organization();
      const [first, second] = await register(client, ["r1", "r2"], { site: "lab", labels: { team: "a" } });
      const { robots, total } = await client.call("previewFleet", { body: { robots: [second?.id, "r1"] } });
      expect(total).toBe(2);
      expect(robots).toEqual(
        [second, first].map((robot) => ({
          robot_id: robot?.id,
          robot: robot?.name,
          robot_type_id: ROBOT_TYPE,
          region: REGION,
          site: "lab",
          labels: { team: "a" },
          fits: null,
          reason: null,
        })),
      );
    });

    it("a selector takes whom a fleet of it has", async () => {
      const client = await target().organization();
      await register(client, ["r1", "r2"], { labels: { team: "a" } });
      await register(client, ["r3"], { labels: { team: "b" } });
      const selector = { labels: { team: "a" } };
      const { robots } = await client.call("previewFleet", { body: { selector, robots: null, subject: null } });
      const fleet = await client.call("createFleet", { body: fleetOf("f", { selection: { selector } }) });
      const { members } = await detailsOf(client, fleet);
      expect(robots.map(({ robot_id: robotId }) => robotId)).toEqual(members.map(({ robot_id: robotId }) => robotId));
    });

    it("with a subject each robot fits, or a sentence says what it lacks", async () => {
      const client = await target().organization();
      await register(client, ["fits"]);
      await register(client, ["wheelbarrow"], { robot_type_id: "wheelbarrow" });
      await register(client, ["far"], { region: OTHER_REGION });
      const body = { robots: ["fits", "wheelbarrow", "far"], subject: PICKY.checkpoint };
      const judged = async () => {
        const { robots } = await client.call("previewFleet", { body });
        return robots.map(({ fits, reason }) => [fits, reason]);
      };
      // Until its endpoint was looked at.
      await soon(async () =>
        expect(await judged()).toEqual([
          [true, null],
          [false, `${PICKY.checkpoint} needs a robot of type ${ROBOT_TYPE}; the robot is wheelbarrow.`],
          [false, `${PICKY.checkpoint} has no endpoint in the robot's region ${OTHER_REGION}.`],
        ]),
      );
    });

    it("a robot that fits a model whose endpoint fails is told what it would wait for", async () => {
      const client = await withRobots(target());
      const judged = async () => {
        const { robots } = await client.call("previewFleet", { body: { robots: ["r1"], subject: DEAD.slug } });
        return robots.map(({ fits, reason }) => [fits, reason]);
      };
      const reason = expect.stringMatching(/^The endpoint in us-west-2 has been unhealthy since .*503.*\.$/);
      await soon(async () => expect(await judged()).toEqual([[true, reason]]));
    });

    itOnce("of more robots than are read at a time: all, each once", async () => {
      const client = await target().organization();
      const names = Array.from({ length: 205 }, (_, index) => `r${index}`);
      await Promise.all(names.map((name) => client.call("setupRobot", { body: setupOf(name, { site: "lab" }) })));
      const { robots, total } = await client.call("previewFleet", { body: { selector: { site: "lab" } } });
      expect([total, new Set(robots.map(({ robot }) => robot))]).toEqual([205, new Set(names)]);
    });

    const refuse = async (_what: string, body: unknown, locs: readonly Loc[]) => {
      const client = await withRobots(target());
      const where = locs.map((loc) => ["body", ...loc]);
      await client.invalid(where, "previewFleet", { body });
    };

    it.each<[what: string, body: unknown, locs: readonly Loc[]]>([
      ["robots that do not exist", { robots: ["x", "r1"] }, [["robots", 0]]],
      ["a robot twice", { robots: ["r1", "r1"] }, [["robots", 1]]],
      ["a selector that matches nothing", { selector: { site: "nowhere" } }, [["selector"]]],
      ["a subject that does not exist", { robots: ["r1"], subject: "no-such-model" }, [["subject"]]],
      ["nobody for nothing", { robots: ["x"], subject: "no-such-model" }, [["robots", 0], ["subject"]]],
    ])("refuses %s", refuse);

    itOnce.each<[what: string, body: unknown, locs: readonly Loc[]]>([
      ["neither robots nor selector", {}, [[]]],
      ["robots and a selector", { robots: ["r1"], selector: { site: "s" } }, [[]]],
      ["an empty selector", { selector: {} }, [["selector"]]],
      ["a member it does not know", { robots: ["r1"], name: "f" }, [["name"]]],
    ])("refuses %s", refuse);

    it("makes nothing, and needs no right to write", async () => {
      const client = await withRobots(target());
      const { api_key: apiKey } = await client.call("createApiKey", {
        body: { label: "reader", scopes: ["robots:read"] },
      });
      await client.as(apiKey).call("previewFleet", { body: { robots: ["r1"] } });
      expect(await client.call("listFleets")).toEqual([]);
      const { status } = await client.send("previewFleet", { method: "GET" });
      expect(status).toBe(405);
    });
  });

  describe("registrations", () => {
    it("the last one: all that was sent, the contract as it was sent, and when it changed", async () => {
      const client = await target().organization();
      const contract = '{"deep":[1,{"x":12345678901234567890}]}';
      const sent = { ...setupOf("r1"), site: "lab", labels: { team: "a" } };
      const setup = `${JSON.stringify(sent).slice(0, -1)},"contract":${contract}}`;
      await client.call("setupRobot", { body: setup });
      const path = { robot: "r1" };
      const first = await client.call("getRegistration", { path });
      const { name: robot, ...members } = sent;
      expect(first).toMatchObject({ robot, ...members });
      expect(first.changed_at).toBe(first.registered_at);
      const answer = await fetch(`${client.nextUrl()}/v1/robots/r1/registration`, {
        headers: { authorization: `Bearer ${client.key}` },
      });
      expect(await answer.text()).toContain(`"contract":${contract}}`);
      await client.call("setupRobot", { body: setup });
      const again = await client.call("getRegistration", { path });
      expect(again.changed_at).toBe(first.changed_at);
      expect(again.registered_at > first.registered_at).toBe(true);
      await register(client, ["r1"], { configuration_digest: OTHER_DIGEST });
      const changed = await client.call("getRegistration", { path });
      expect(changed).toMatchObject({ configuration_digest: OTHER_DIGEST, contract: null });
      expect(changed.changed_at).toBe(changed.registered_at);
    });

    it("changed_at moves with each member by itself, and with nothing else", async () => {
      const client = await target().organization();
      const path = { robot: "r1" };
      const setup = { site: "lab", labels: { team: "a" } };
      await register(client, ["r1"], setup);
      const changes = [
        { configuration_digest: OTHER_DIGEST },
        { robot_type_id: "another" },
        { region: OTHER_REGION },
        { site: null },
        { labels: { team: "b" } },
        { contract: { a: 1 } },
      ];
      for (const change of changes) {
        Object.assign(setup, change);
        const before = await client.call("getRegistration", { path });
        await register(client, ["r1"], setup);
        const after = await client.call("getRegistration", { path });
        expect([change, after.changed_at]).toEqual([change, after.registered_at]);
        expect(after.changed_at > before.changed_at).toBe(true);
        await register(client, ["r1"], setup);
        expect((await client.call("getRegistration", { path })).changed_at).toBe(after.changed_at);
      }
    });

    it("the list: every robot, in pages where they are asked for", async () => {
      const client = await target().organization();
      const robots = await register(client, ["c", "a", "b"]);
      const { items } = await client.call("listRegistrations");
      expect(items.map(({ robot_id: robotId }) => robotId)).toEqual(robots.map(({ id }) => id));
      const page = await client.send("listRegistrations", { query: { limit: "2" } });
      expect(page.headers.get("link")).toContain('rel="next"');
      expect(page.body).toEqual({ items: items.slice(0, 2) });
    });

    it("history: newest first, with what changed, and by whom", async () => {
      const client = await target().organization();
      const key = await client.call("createApiKey", { body: { label: "cell 4", scopes: ["robots:setup"] } });
      await register(client, ["r1"], { site: "lab", labels: { team: "a" } });
      await register(client, ["r1"], { site: "lab", labels: { team: "a" } });
      await register(client.as(key.api_key), ["r1"], {
        region: OTHER_REGION,
        labels: { team: "b" },
        configuration_digest: OTHER_DIGEST,
        contract: { a: 1 },
      });
      const items = await historyOf(client, "r1");
      expect(items.map(({ changed }) => changed)).toEqual([
        ["configuration_digest", "region", "site", "labels", "contract"],
        [],
        null,
      ]);
      expect(items[0]).toMatchObject({
        configuration_digest: OTHER_DIGEST,
        robot_type_id: ROBOT_TYPE,
        region: OTHER_REGION,
        site: null,
        actor: { id: key.id, label: "cell 4" },
      });
      expect(items[2]).toMatchObject({ configuration_digest: DIGEST, site: "lab" });
    });

    it("two computers that register one name in turn are told of, until one of them goes on alone", async () => {
      const client = await target().organization();
      const [one, other] = [
        await client.call("createApiKey", { body: { label: "cell 4", scopes: ["robots:setup"] } }),
        await client.call("createApiKey", { body: { label: "cell 7", scopes: ["robots:setup"] } }),
      ];
      const path = { robot: "r1" };
      for (const [key, configurationDigest] of [
        [one, DIGEST],
        [other, OTHER_DIGEST],
      ] as const) {
        await register(client.as(key.api_key), ["r1"], { configuration_digest: configurationDigest });
        const told = await client.call("getRegistration", { path });
        expect([told.contested_since, told.contested_from]).toEqual([null, []]);
      }
      const taken = await client.call("getRegistration", { path });
      await register(client.as(one.api_key), ["r1"], { configuration_digest: DIGEST });
      const told = await client.call("getRegistration", { path });
      expect(told.contested_since).toBe(taken.changed_at);
      const [first, second] = told.contested_from;
      expect([first?.actor, second?.actor]).toEqual([
        { id: one.id, label: "cell 4" },
        { id: other.id, label: "cell 7" },
      ]);
      expect(told.contested_from.map(({ address }) => isIP(address) > 0)).toEqual([true, true]);
      const { items } = await client.call("listRegistrations");
      expect(items[0]?.contested_since).toBe(told.contested_since);
      expect((await historyOf(client, "r1")).map(({ contested }) => contested)).toEqual([true, false, false]);
    });

    it("a calibration that one computer takes back is no such thing", async () => {
      const client = await target().organization();
      for (const configurationDigest of [DIGEST, OTHER_DIGEST, DIGEST]) {
        await register(client, ["r1"], { configuration_digest: configurationDigest });
      }
      expect((await client.call("getRegistration", { path: { robot: "r1" } })).contested_since).toBeNull();
    });

    itOnce("history: the newest 200, and the last of them still says what changed", async () => {
      const client = await target().organization();
      for (let round = 0; round < 202; round += 1) {
        await register(client, ["r1"], { site: `s${round}` });
      }
      const items = await historyOf(client, "r1");
      expect(items.map(({ site }) => site)).toEqual(Array.from({ length: 200 }, (_, index) => `s${201 - index}`));
      expect(items.at(-1)?.changed).toEqual(["site"]);
    });

    it.each(["nobody", "rob_00000000000000000000000000", "\u0000"])("of %j: 404", async (robot) => {
      const client = await target().organization();
      await client.refused("NotFound", "getRegistration", { path: { robot } });
      await client.refused("NotFound", "getRobotHistory", { path: { robot } });
    });
  });

  describe("regions", () => {
    it("are those of the endpoints of the catalog, for the key of a robot too", async () => {
      const client = await target().organization();
      const { api_key: apiKey } = await client.call("createApiKey", {
        body: { label: "cell 4", scopes: ["robots:setup"] },
      });
      const { items } = await client.call("listEndpoints");
      const { regions } = await client.as(apiKey).call("listRegions");
      expect(regions).toEqual([...new Set(items.map(({ region }) => region))].toSorted());
    });
  });

  describe("the audit log", () => {
    it("who changed what, newest first, in pages where they are asked for, and no registrations", async () => {
      const client = await target().organization();
      const { api_key: apiKey, id } = await client.call("createApiKey", { body: { label: "cell 4" } });
      await register(client, ["r1"]);
      await client.as(apiKey).call("createApiKey", { body: { label: "cell 5" } });
      await client.call("revokeApiKey", { path: { key_id: id } });
      const { items } = await client.call("listAudit");
      expect(
        items.slice(0, 3).map(({ action, subject_id: subjectId, actor }) => [action, subjectId, actor.label]),
      ).toEqual([
        ["api_key.revoke", id, expect.any(String)],
        ["api_key.create", expect.any(String), "cell 4"],
        ["api_key.create", id, items[0]?.actor.label],
      ]);
      expect(items.map(({ action }) => action)).not.toContain("robot.setup");
      const first = await client.send("listAudit", { query: { limit: "2" } });
      expect(first.body).toEqual({ items: items.slice(0, 2) });
      const next = /^<(.+)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
      const answer = await fetch(client.nextUrl() + next, { headers: { authorization: `Bearer ${client.key}` } });
      expect(await answer.json()).toEqual({ items: items.slice(2, 4) });
    });

    it("names what was changed", async () => {
      const client = await withRobots(target());
      await client.call("createFleet", { body: fleetOf("line 4") });
      const { id } = await client.call("createDeployment", { body: { model: STEADY.slug, robot: "r1" } });
      await client.call("createApiKey", { body: { label: "cell 4" } });
      const { items } = await client.call("listAudit");
      const named = items
        .slice(0, 3)
        .map(({ action, subject_name: subjectName, subject_model: subjectModel }) => [
          action,
          subjectName,
          subjectModel,
        ]);
      expect(named).toEqual([
        ["api_key.create", "cell 4", null],
        ["deployment.create", "r1", STEADY.slug],
        ["fleet.create", "line 4", null],
      ]);
      expect(items[1]?.subject_id).toBe(id);
    });
  });

  describe("endpoints", () => {
    it("each of the catalog is told with its health, and not where it is", async () => {
      const client = await withRobots(target());
      const fleet = await client.call("createFleet", { body: fleetOf("f") });
      await untilFleet(client, fleet, { status: "ready" });
      const { items } = await client.call("listEndpoints");
      expect(items).toContainEqual({
        model_slug: STEADY.slug,
        checkpoint_id: STEADY.newest,
        region: REGION,
        status: "healthy",
        since: expect.any(String),
        checked_at: expect.any(String),
        detail: null,
      });
      expect(JSON.stringify(items)).not.toContain("127.0.0.1");
    });
  });
}
