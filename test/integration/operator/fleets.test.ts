import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { COLD, DEAD, PICKY, SHAKY, STEADY } from "../../conformance/api/catalog.ts";
import { eventually } from "../../support/eventually.ts";
import { openEnrolling } from "../../support/operator/enrolling.ts";
import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

let site: OperatorSite;
beforeAll(async () => {
  site = await openOperatorSite();
  // Registered in another order than that of the names, so that an unsorted list fails a test.
  await site.register("arm-2", { site: "lab" });
  await site.register("arm-1", { site: "lab" });
  await site.register("cart", { site: "yard", robot_type_id: "wheelbarrow" });
});
afterAll(() => site[Symbol.asyncDispose]());

const create = (name: string, model: string, ...args: string[]) =>
  site.run("fleets", "create", "--name", name, "--model", model, ...args);
const ARMS = ["--robot", "arm-1", "--robot", "arm-2"] as const;

describe("fleets show", () => {
  beforeAll(async () => void (await create("why", PICKY.slug, ...ARMS, "--robot", "cart", "--wait")));

  it("a blocked fleet → the blocker, then members grouped by reason", async () => {
    const { exitCode, out } = await site.run("fleets", "show", "why");
    expect(exitCode).toBe(0);
    const parts = [
      /^why {2}degraded {2}fleet_\w+$/m,
      /^blocked, 1 robot: picky-vla needs a robot of type so101_follower; the robot is wheelbarrow\.\n {2}cart$/m,
      /^ready, 2 robots\n {2}arm-1 {2}arm-2$/m,
      /^gen_\w+ +picky-vla +active( +\S+Z){2}$/m,
    ];
    const places = parts.map((part) => out.search(part));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBe(0);
  });

  it("more robots than the peak allows → the others count and are listed as over the peak", async () => {
    await create("peak", STEADY.slug, ...ARMS, "--peak", "1", "--wait");
    const { out } = await site.run("fleets", "show", "peak");
    expect(out).toMatch(/^1 ready, 1 over the peak of 2$/m);
    expect(out).toMatch(/^over the peak, 1 robot: The fleet keeps capacity for 1 robot at once/m);
    expect(out).not.toContain("waiting");
  });

  it("windows → when the next one opens", async () => {
    await create("shift", STEADY.slug, ...ARMS, "--window", "2098-01-01T00:00:00Z/2098-01-01T08:00:00Z");
    const { out } = await site.run("fleets", "show", "shift");
    expect(out).toMatch(
      /^waiting, 2 robots: The fleet is outside its operating windows until 2098-01-01T00:00:00\.000Z\.$/m,
    );
    expect(out).toMatch(
      /^operating windows, 1 of 1 not past\n {2}2098-01-01 00:00Z to 2098-01-01 08:00Z, 2098-01-01T00:00:00Z$/m,
    );
  });

  it("--json → the service's answers, fleet and details", async () => {
    const { out } = await site.run("fleets", "show", "why", "--json");
    const document = JSON.parse(out);
    const fleet = await (await site.service.send("GET", `/v1/fleets/${document.id}`)).json();
    expect(document).toEqual({
      ...(fleet as object),
      details: expect.objectContaining({ members: expect.any(Array) }),
    });
  });

  it("documented service → what it offers, and one note on what it lacks", async () => {
    const { exitCode, out, err } = await site.eleven("fleets", "show", "why");
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^why {2}degraded {2}fleet_/)]);
    expect(err).toBe("This service does not show members, windows and generations.\n");
    expect(JSON.parse((await site.eleven("fleets", "show", "why", "--json")).out)).toMatchObject({ details: null });
  });

  it("an id → found on both services; an unknown name → exit 6", async () => {
    const { id } = await site.json("fleets", "show", "why");
    for (const run of [site.run, site.eleven]) {
      expect((await run("fleets", "show", id)).exitCode).toBe(0);
      expect(await run("fleets", "show", "nobody")).toMatchObject(endedWith(6, "[not-found]"));
    }
  });
});

describe("fleets list", () => {
  it("--status → only fleets with this status, with their blockers", async () => {
    await create("list-blocked", PICKY.slug, "--robot", "cart");
    const { out } = await site.run("fleets", "list", "--status", "blocked");
    expect(out).toMatch(
      /^list-blocked +blocked +0\/1 +picky-vla +No robot of this fleet can run picky-vla +Set up robots again .* +fleet_\w+$/m,
    );
    expect(out).not.toContain(" ready ");
  });
});

describe("fleets list at 80 columns", () => {
  const at80 = (...args: string[]) => site.runWith({ columns: 80 }, "fleets", "list", ...args);

  beforeAll(async () => {
    await create("list-update", STEADY.slug, ...ARMS, "--wait");
    await site.run("fleets", "update-model", "list-update", DEAD.slug);
    for (const name of ["list-alike-1", "list-alike-2"]) await create(name, PICKY.slug, "--robot", "cart");
  });

  it("a table with the update in progress, and the remedies below it", async () => {
    const { out, err } = await at80();
    expect(out).toMatch(/^NAME +STATUS +READY +MODEL +REASON$/m);
    expect(out).toMatch(new RegExp(`^list-update +ready +2/2 +pi0\\.5 +\\w+ update to ${DEAD.slug}`, "m"));
    expect(out.replaceAll(/\s+/g, " ")).toMatch(
      /list-alike-1.*: No robot of this fleet can run picky-vla\. → Set up robots again so that they fit/,
    );
    expect(err).toBe("1 column hidden: id; --columns shows them\n");
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it.each([
    ["status", /^list-alike-1 .*^list-update /ms],
    ["name", /^list-alike-1 .*^list-alike-2 .*^list-update /ms],
    ["ready", / 0\/1 .* 2\/2 /s],
  ])("--sort %s", async (order, rows) => {
    expect((await at80("--sort", order)).out).toMatch(rows);
  });

  it("documented service → only the blocker", async () => {
    expect(await site.eleven("fleets", "list", "--status", "blocked")).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(
        /^list-alike-1 +blocked +0\/1 +picky-vla +No robot of this fleet can run picky-vla +fleet_/m,
      ),
    });
  });
});

describe("fleets update-model", () => {
  it("--wait: the fleet uses the new model → exit 0", async () => {
    await create("update", STEADY.oldest, ...ARMS, "--wait");
    const { exitCode, out, err } = await site.run("fleets", "update-model", "update", STEADY.slug, "--wait");
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^model +pi0\.5 \(active\)$/m)]);
    expect(err).toContain(`update is being updated to ${STEADY.slug}; ${STEADY.oldest} serves until that is ready`);
    expect(await site.run("fleets", "update-model", "update", STEADY.slug, "--wait")).toMatchObject(
      endedWith(0, "there is nothing to update"),
    );
  });

  it("the model that the fleet uses now → cancels the update in progress, and says so", async () => {
    await create("back", STEADY.slug, ...ARMS, "--wait");
    await site.run("fleets", "update-model", "back", DEAD.slug);
    const { exitCode, err } = await site.run("fleets", "update-model", "back", STEADY.slug);
    expect([exitCode, err]).toEqual([0, `back keeps ${STEADY.slug}; the update to ${DEAD.slug} is ended.\n`]);
    expect(await site.json("fleets", "show", "back")).toMatchObject({ update: null });
  });

  it("--wait: the update is blocked → exit 6 with its blocker", async () => {
    await create("stays", STEADY.slug, "--robot", "cart", "--wait");
    const { exitCode, err } = await site.run("fleets", "update-model", "stays", PICKY.slug, "--wait");
    expect(exitCode).toBe(6);
    expect(err).toMatch(/cart: picky-vla needs a robot of type .*\[update-blocked\]/);
  });

  it("--wait: another update replaces it → exit 7", async () => {
    await create("raced", STEADY.slug, ...ARMS, "--wait");
    const { id } = await site.json("fleets", "show", "raced");
    let isReplaced = false;
    const onOutput = (text: string) => {
      if (isReplaced || !text.includes("update to")) return;
      isReplaced = true;
      void site.service.send("POST", `/v1/fleets/${id}/model`, { subject: SHAKY.slug });
    };
    const args = ["fleets", "update-model", "raced", DEAD.slug, "--wait"];
    const ran = await site.runWith({ onOutput }, ...args);
    expect(ran).toMatchObject(endedWith(7, "[superseded]"));
  });

  it("unknown model → the error names MODEL; --dry-run → sends nothing", async () => {
    await create("dry", STEADY.slug, ...ARMS);
    expect(await site.run("fleets", "update-model", "dry", "none")).toMatchObject(
      endedWith(6, 'MODEL "none": no model or checkpoint has this name'),
    );
    const { out } = await site.run("fleets", "update-model", "dry", DEAD.slug, "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({ method: "POST", body: { subject: DEAD.slug } });
    expect(await site.json("fleets", "show", "dry")).toMatchObject({ update: null });
  });
});

describe("fleets rollback", () => {
  it("after an update → asks with what it does; then the model of the generation before", async () => {
    await create("undo", STEADY.slug, ...ARMS, "--wait");
    expect(await site.run("fleets", "rollback", "undo")).toMatchObject(
      endedWith(6, "undo had no other model before [no-earlier-model]"),
    );
    await site.run("fleets", "update-model", "undo", STEADY.oldest, "--wait");
    const declined = await site.runWith({ answers: ["n"] }, "fleets", "rollback", "undo");
    expect([declined.exitCode, declined.err]).toEqual([1, expect.stringContaining("[not-confirmed]")]);
    expect(declined.err).toMatch(
      /^This rolls undo back from \S+ to pi0\.5 \(ckpt_pi05_second\), which it used before\.\nIt uses \S+ until/,
    );
    const { exitCode, out, err } = await site.runWith({ answers: ["y"] }, "fleets", "rollback", "undo", "--wait");
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^model +pi0\.5 \(active\)$/m)]);
    expect(err).toContain(`undo is being updated to ${STEADY.slug}; ${STEADY.oldest} serves until that is ready`);
  });

  it("an update in progress → ends it", async () => {
    await site.run("fleets", "update-model", "undo", DEAD.slug);
    const { exitCode, err } = await site.run("fleets", "rollback", "undo");
    expect([exitCode, err]).toEqual([0, `undo keeps ${STEADY.slug}; the update to ${DEAD.slug} is ended.\n`]);
  });

  it("a model that stands for another checkpoint by now → the checkpoint itself; documented service → not offered", async () => {
    await create("exact", STEADY.oldest, ...ARMS, "--wait");
    await site.run("fleets", "update-model", "exact", STEADY.slug, "--wait");
    const { out } = await site.run("fleets", "rollback", "exact", "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({ method: "POST", body: { subject: STEADY.oldest } });
    expect(await site.eleven("fleets", "rollback", "exact")).toMatchObject(endedWith(6, "[not-offered]"));
  });
});

describe("fleets reconcile", () => {
  beforeAll(async () => {
    for (const name of ["pack-1", "pack-2"]) await site.register(name, { site: "packing" });
    await create("packing", STEADY.slug, "--site", "packing", "--peak", "2", "--wait");
    await site.register("pack-3", { site: "packing" });
    await site.run("robots", "remove", "pack-1");
    await site.run("robots", "remove", "pack-2");
  });

  it("declined → says who would join and leave, changes nothing", async () => {
    const { exitCode, err } = await site.runWith({ answers: ["n"] }, "fleets", "reconcile", "packing");
    expect([exitCode, err]).toEqual([1, expect.stringContaining("[not-confirmed]")]);
    expect(err.split("\n").slice(0, 3)).toEqual([
      "1 robot joins: pack-3",
      "2 robots leave: pack-1, pack-2",
      "packing has 1 robot afterwards, of which at most 1 may be active at once, instead of 2.",
    ]);
    expect(await site.json("fleets", "show", "packing")).toMatchObject({ robots: { registered: 2 } });
  });

  it("--dry-run → the same, and the request", async () => {
    const { out, err } = await site.run("fleets", "reconcile", "packing", "--dry-run");
    expect([out, err]).toEqual([
      expect.stringMatching(/POST .*\/reconcile/),
      expect.stringContaining("1 robot joins: pack-3\n"),
    ]);
    const { out: json } = await site.run("fleets", "reconcile", "packing", "--dry-run", "--json");
    expect(JSON.parse(json)).toMatchObject({ method: "POST", body: null });
  });

  it("confirmed → the fleet with its members; repeated → says that nothing is changed, asks nothing", async () => {
    const confirmed = await site.runWith({ answers: ["y"] }, "fleets", "reconcile", "packing");
    expect(confirmed).toMatchObject({ exitCode: 0, out: expect.stringMatching(/1 ready of 1$/m) });
    const repeated = await site.runWith({ answers: [] }, "fleets", "reconcile", "packing");
    expect(repeated).toMatchObject({ exitCode: 0, err: "packing has these members already; nothing is changed.\n" });
    expect(JSON.parse((await site.run("fleets", "reconcile", "packing", "--json")).out)).toMatchObject({
      name: "packing",
      robots: { registered: 1 },
    });
  });

  it("no robot is left → exit 7; documented service → says that it does not offer it", async () => {
    await site.run("robots", "remove", "pack-3");
    expect(await site.run("fleets", "reconcile", "packing", "--yes")).toMatchObject(
      endedWith(7, "No robot matches the selector of this fleet any more"),
    );
    expect(await site.eleven("fleets", "reconcile", "packing")).toMatchObject(endedWith(6, "[not-offered]"));
  });
});

it.each([
  ["show", "."],
  ["reconcile", ".."],
  ["update-model", "..", STEADY.slug],
  ["remove", ""],
])("fleets %s %j: a name that cannot be part of a path → exit 2, no request", async (...args) => {
  const before = site.service.requests.length;
  expect(await site.run("fleets", ...args)).toMatchObject(endedWith(2, "is not a valid name or id"));
  expect(site.service.requests).toHaveLength(before);
});

describe("deploy", () => {
  it("--wait: the deployment is active, however late → exit 0", async () => {
    let isHealed = false;
    const onOutput = (text: string) => {
      if (isHealed || !text.includes("is preparing")) return;
      isHealed = true;
      site.inference.heal(COLD.endpoint);
    };
    const args = ["deploy", COLD.slug, "--robot", "arm-2", "--wait"];
    const { exitCode, out, err } = await site.runWith({ onOutput }, ...args);
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^cold-vla on arm-2 is active \(dep_\w+\), at http/)]);
    expect(err).toBe("cold-vla on arm-2 is preparing\n");
  });

  it("--wait on the documented service: active at once → exit 0; not active at once → cannot wait", async () => {
    expect((await site.eleven("deploy", STEADY.slug, "--robot", "arm-1", "--wait")).exitCode).toBe(0);
    expect(await site.eleven("deploy", DEAD.slug, "--robot", "arm-1", "--wait")).toMatchObject(
      endedWith(6, "[not-offered]"),
    );
  });

  it("the model does not suit the robot → exit 6, at --robot", async () => {
    expect(await site.run("deploy", PICKY.slug, "--robot", "cart")).toMatchObject(
      endedWith(6, /^error: --robot "cart": the model needs a robot of type/),
    );
  });

  it.each<[args: readonly string[], err: string]>([
    [["deploy", "m"], "--robot"],
    [["deploy", "m", "--robot", "a", "--robot", "b"], "a deployment is for one robot"],
  ])("%j → exit 2", async (args, err) => {
    expect(await site.run(...args)).toMatchObject(endedWith(2, err));
  });

  it("--dry-run → shows the request", async () => {
    const { out } = await site.run("deploy", "m", "--robot", "a", "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({ method: "POST", body: { model: "m", robot: "a" } });
  });
});

it("fleets show: names offline members once, but not those that never enrolled a computer", async () => {
  const { enroll, enrollOnline } = openEnrolling(site);
  await enrollOnline("here");
  await enroll("gone");
  await create("partly", STEADY.slug, "--robot", "here", "--robot", "gone", ...ARMS);
  // Fleets count what the store knows, which gets a first heartbeat up to about a second after the service heard it.
  await eventually(async () => {
    const { robots } = await site.json("fleets", "show", "partly");
    return robots.ready === 3 ? robots : undefined;
  }, "the fleet counts here as ready");
  const { out } = await site.run("fleets", "show", "partly");
  expect(out).toMatch(/^offline, 1 robot: .*\n {2}gone$/m);
  expect(out.match(/\bgone\b/g)).toHaveLength(1);
  expect(out).toContain("\nready, 3 robots\n  arm-1  arm-2  here\n");
});
