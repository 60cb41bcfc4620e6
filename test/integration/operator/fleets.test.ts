import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { COLD, DEAD, PICKY, SHAKY, STEADY } from "../../conformance/api/catalog.ts";
import { openEnrolling } from "../../support/operator/enrolling.ts";
import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

let site: OperatorSite;
beforeAll(async () => {
  site = await openOperatorSite();
  // Not in the order of their names, so that a list in the order of registration shows.
  await site.register("arm-2", { site: "lab" });
  await site.register("arm-1", { site: "lab" });
  await site.register("cart", { site: "yard", robot_type_id: "wheelbarrow" });
});
afterAll(() => site[Symbol.asyncDispose]());

const create = (name: string, model: string, ...words: string[]) =>
  site.run("fleets", "create", "--name", name, "--model", model, ...words);
const ARMS = ["--robot", "arm-1", "--robot", "arm-2"] as const;

describe("fleets show", () => {
  beforeAll(async () => void (await create("why", PICKY.slug, ...ARMS, "--robot", "cart", "--wait")));

  it("tells why: the blocker, then members grouped by what keeps them", async () => {
    const { exitCode, out } = await site.run("fleets", "show", "why");
    expect(exitCode).toBe(0);
    const parts = [
      /^why {2}degraded {2}fleet_\w+$/m,
      /^blocked, 1 robot: picky-vla needs a robot of type so101_follower; the robot is wheelbarrow\.\n {2}cart$/m,
      /^ready, 2 robots\n {2}arm-1 {2}arm-2$/m,
      /^us-west-2 +picky-vla +healthy +/m,
      /^gen_\w+ +picky-vla +active( +(?:now|\d+ s ago)){2}$/m,
    ];
    const places = parts.map((part) => out.search(part));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBe(0);
  });

  it("robots for which there is no room below the peak are over the peak, in the counts and by name", async () => {
    await create("peak", STEADY.slug, ...ARMS, "--peak", "1", "--wait");
    const { out } = await site.run("fleets", "show", "peak");
    expect(out).toMatch(/ {2}1 ready, 1 over the peak of 2$/m);
    expect(out).toMatch(/^over the peak, 1 robot: The fleet keeps capacity for 1 robot at once/m);
    expect(out).not.toContain("waiting");
  });

  it("windows: when the next one opens", async () => {
    await create("shift", STEADY.slug, ...ARMS, "--window", "2098-01-01T00:00:00Z/2098-01-01T08:00:00Z");
    const { out } = await site.run("fleets", "show", "shift");
    expect(out).toMatch(/^waiting, 2 robots: The fleet is outside its operating windows until 2098-01-01 00:00Z\.$/m);
    expect(out).toMatch(/^operating windows\n {2}2098-01-01 00:00Z to 2098-01-01 08:00Z {2}8 h, 2098-01-01$/m);
  });

  it("--json: the fleet as the service gave it, and its details", async () => {
    const { out } = await site.run("fleets", "show", "why", "--json");
    const document = JSON.parse(out);
    const fleet = await (await site.service.send("GET", `/v1/fleets/${document.id}`)).json();
    expect(document).toEqual({
      ...(fleet as object),
      details: expect.objectContaining({ members: expect.any(Array) }),
    });
  });

  it("the documented service: what it knows, and one clear word", async () => {
    const { exitCode, out, err } = await site.eleven("fleets", "show", "why");
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^why {2}degraded {2}fleet_/)]);
    expect(err).toBe("This service does not show members, windows and generations.\n");
    expect(JSON.parse((await site.eleven("fleets", "show", "why", "--json")).out)).toMatchObject({ details: null });
  });

  it("by id on both services; a name that is nobody's: 6", async () => {
    const { id } = await site.json("fleets", "show", "why");
    for (const run of [site.run, site.eleven]) {
      expect((await run("fleets", "show", id)).exitCode).toBe(0);
      expect(await run("fleets", "show", "nobody")).toMatchObject(endedWith(6, "[not-found]"));
    }
  });
});

describe("fleets list", () => {
  it("--status shows those alone, with what keeps them", async () => {
    await create("list-blocked", PICKY.slug, "--robot", "cart");
    const { out } = await site.run("fleets", "list", "--status", "blocked");
    expect(out).toMatch(
      /^list-blocked +blocked +0\/1 +picky-vla +No robot of this fleet can run picky-vla +Set up robots again .* +fleet_\w+$/m,
    );
    expect(out).not.toContain(" ready ");
  });
});

describe("fleets list at 80 columns", () => {
  const at80 = (...words: string[]) => site.runWith({ columns: 80 }, "fleets", "list", ...words);

  beforeAll(async () => {
    await create("list-update", STEADY.slug, ...ARMS, "--wait");
    await site.run("fleets", "update-model", "list-update", DEAD.slug);
    for (const name of ["list-alike-1", "list-alike-2"]) await create(name, PICKY.slug, "--robot", "cart");
  });

  it("is a table, with the update that is under way, and below it what is to be done", async () => {
    const { out, err } = await at80();
    expect(out).toMatch(/^NAME +STATUS +READY +MODEL +REASON$/m);
    expect(out).toMatch(new RegExp(`^list-update +ready +2/2 +pi0\\.5 +\\w+ update to ${DEAD.slug}`, "m"));
    expect(out.replaceAll(/\s+/g, " ")).toMatch(
      /list-alike-1.*: No robot of this fleet can run picky-vla\. → Set up robots again so that they fit/,
    );
    expect(err).toBe("1 column hidden: id; --wide or --columns\n");
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it.each([
    ["status", /^list-alike-1 .*^list-update /ms],
    ["name", /^list-alike-1 .*^list-alike-2 .*^list-update /ms],
    ["ready", / 0\/1 .* 2\/2 /s],
  ])("--sort %s", async (order, rows) => {
    expect((await at80("--sort", order)).out).toMatch(rows);
  });

  it("on the documented service: with the blocker alone", async () => {
    expect(await site.eleven("fleets", "list", "--status", "blocked")).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(
        /^list-alike-1 +blocked +0\/1 +picky-vla +No robot of this fleet can run picky-vla +fleet_/m,
      ),
    });
  });
});

describe("fleets update-model", () => {
  it("--wait: 0 once the fleet uses the new model", async () => {
    await create("update", STEADY.oldest, ...ARMS, "--wait");
    const { exitCode, out, err } = await site.run("fleets", "update-model", "update", STEADY.slug, "--wait");
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^model +pi0\.5 \(active\)$/m)]);
    expect(err).toContain(`update is being updated to ${STEADY.slug}; ${STEADY.oldest} serves until that is ready`);
    expect(await site.run("fleets", "update-model", "update", STEADY.slug, "--wait")).toMatchObject(
      endedWith(0, "there is nothing to update"),
    );
  });

  it("back to the model that the fleet uses: ends the update in progress, and says so", async () => {
    await create("back", STEADY.slug, ...ARMS, "--wait");
    await site.run("fleets", "update-model", "back", DEAD.slug);
    const { exitCode, err } = await site.run("fleets", "update-model", "back", STEADY.slug);
    expect([exitCode, err]).toEqual([0, `back keeps ${STEADY.slug}; the update to ${DEAD.slug} is ended.\n`]);
    expect(await site.json("fleets", "show", "back")).toMatchObject({ update: null });
  });

  it("--wait: 6 where the update is blocked, with its blocker", async () => {
    await create("stays", STEADY.slug, "--robot", "cart", "--wait");
    const { exitCode, err } = await site.run("fleets", "update-model", "stays", PICKY.slug, "--wait");
    expect(exitCode).toBe(6);
    expect(err).toMatch(/cart: picky-vla needs a robot of type .*\[update-blocked\]/);
  });

  it("--wait: 7 where another update takes its place", async () => {
    await create("raced", STEADY.slug, ...ARMS, "--wait");
    const { id } = await site.json("fleets", "show", "raced");
    let isReplaced = false;
    const onOutput = (text: string) => {
      if (isReplaced || !text.includes("update to")) return;
      isReplaced = true;
      void site.service.send("POST", `/v1/fleets/${id}/model`, { subject: SHAKY.slug });
    };
    const words = ["fleets", "update-model", "raced", DEAD.slug, "--wait"];
    const ran = await site.runWith({ onOutput }, ...words);
    expect(ran).toMatchObject(endedWith(7, "[superseded]"));
  });

  it("a model that is not there is told as MODEL; --dry-run sends nothing", async () => {
    await create("dry", STEADY.slug, ...ARMS);
    expect(await site.run("fleets", "update-model", "dry", "none")).toMatchObject(
      endedWith(6, 'MODEL "none": no model or checkpoint has this name'),
    );
    const { out } = await site.run("fleets", "update-model", "dry", DEAD.slug, "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({ method: "POST", body: { subject: DEAD.slug } });
    expect(await site.json("fleets", "show", "dry")).toMatchObject({ update: null });
  });
});

it.each([
  ["show", "."],
  ["update", "..", "--membership", "follow"],
  ["update-model", "..", STEADY.slug],
  ["remove", ""],
])("fleets %s %j: a name that cannot be in a path is refused before any request", async (...words) => {
  const before = site.service.requests.length;
  expect(await site.run("fleets", ...words)).toMatchObject(endedWith(2, "is not a valid name or id"));
  expect(site.service.requests).toHaveLength(before);
});

describe("deploy", () => {
  it("--wait: 0 once it is active, however long the endpoint takes", async () => {
    let isHealed = false;
    const onOutput = (text: string) => {
      if (isHealed || !text.includes("is preparing")) return;
      isHealed = true;
      site.inference.heal(COLD.endpoint);
    };
    const words = ["deploy", COLD.slug, "--robot", "arm-2", "--wait"];
    const { exitCode, out, err } = await site.runWith({ onOutput }, ...words);
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^cold-vla on arm-2 is active \(dep_\w+\), at http/)]);
    expect(err).toBe("cold-vla on arm-2 is preparing\n");
  });

  it("on the documented service: what is active at once ends well, what is not cannot be waited on", async () => {
    expect((await site.eleven("deploy", STEADY.slug, "--robot", "arm-1", "--wait")).exitCode).toBe(0);
    expect(await site.eleven("deploy", DEAD.slug, "--robot", "arm-1", "--wait")).toMatchObject(
      endedWith(6, "[not-offered]"),
    );
  });

  it("a robot that the model does not suit: 6, at --robot", async () => {
    expect(await site.run("deploy", PICKY.slug, "--robot", "cart")).toMatchObject(
      endedWith(6, /^error: --robot "cart": the model needs a robot of type/),
    );
  });

  it.each<[words: readonly string[], err: string]>([
    [["deploy", "m"], "no robot is given"],
    [["deploy", "m", "--robot", "a", "--robot", "b"], "a deployment is for one robot"],
  ])("usage: %j", async (words, err) => {
    expect(await site.run(...words)).toMatchObject(endedWith(2, err));
  });

  it("--dry-run", async () => {
    const { out } = await site.run("deploy", "m", "--robot", "a", "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({ method: "POST", body: { model: "m", robot: "a" } });
  });
});

it("fleets show names the members that are offline, and none without a computer", async () => {
  const { enrol, enrolOnline } = openEnrolling(site);
  await enrolOnline("here");
  await enrol("gone");
  await create("partly", STEADY.slug, "--robot", "here", "--robot", "gone", ...ARMS);
  const { out } = await site.run("fleets", "show", "partly");
  expect(out).toMatch(/^offline, 1 robot: no heartbeats arrive\n {2}gone$/m);
});
