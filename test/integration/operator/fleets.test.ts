import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { fleetCreateSchema } from "../../../src/api/fleets.ts";
import { COLD, DEAD, PICKY, SHAKY, STEADY } from "../../conformance/api/catalog.ts";
import type { OperatorSite } from "../../support/operator/operator.ts";
import { openOperatorSite } from "../../support/operator/operator.ts";

let site: OperatorSite;
beforeAll(async () => {
  site = await openOperatorSite();
  // Not in the order of their names, so that a list in the order of registration shows.
  await site.register("arm-2", { site: "lab" });
  await site.register("arm-1", { site: "lab" });
  await site.register("cart", { site: "yard", robot_type_id: "wheelbarrow" });
});
afterAll(() => site[Symbol.asyncDispose]());

const surroundings = (url: string) => ({
  environment: { ROBOT_POLICY_URL: url, ROBOT_POLICY_API_KEY: site.service.key },
});
const eleven = (...words: string[]) => site.runWith(surroundings(site.urls.eleven), ...words);
const create = (name: string, model: string, ...words: string[]) =>
  site.run("fleets", "create", "--name", name, "--model", model, ...words);
const ARMS = ["--robot", "arm-1", "--robot", "arm-2"] as const;

async function write(name: string, text: string): Promise<string> {
  const path = join(site.home, name);
  await writeFile(path, text);
  return path;
}

describe("fleets create", () => {
  it("--wait: members first, then each change on a line, and 0 when it is ready", async () => {
    const { exit_code: exitCode, out, err } = await create("ready", STEADY.slug, ...ARMS, "--wait");
    expect([exitCode, out]).toEqual([
      0,
      expect.stringMatching(/^ready {2}ready {2}fleet_\w+\n█{20} {2}2 ready of 2\n/),
    ]);
    expect(err).toMatch(/^2 robots: arm-1, arm-2\nThe fleet ready is created \(fleet_\w+\)\.\n/);
    // The end is told by the fleet itself, once.
    expect(err).not.toContain("ready is ready");
  });

  it("--wait on the documented service ends the same", async () => {
    const words = ["fleets", "create", "--name", "eleven", "--model", STEADY.slug, ...ARMS, "--wait", "--json"];
    const { exit_code: exitCode, out } = await eleven(...words);
    expect([exitCode, JSON.parse(out)]).toEqual([0, expect.objectContaining({ name: "eleven", status: "ready" })]);
  });

  it("--wait of one that is blocked: 6, and the blocker", async () => {
    const { exit_code: exitCode, err } = await create("blocked", PICKY.slug, "--robot", "cart", "--wait");
    expect(exitCode).toBe(6);
    expect(err).toContain(`blocked: cart: ${PICKY.slug} needs a robot of type`);
    expect(err).toContain("[fleet-blocked]");
  });

  it("tells before it is created whose endpoint does not answer", async () => {
    const preview = async () => {
      const { out } = await site.run(
        "api",
        "POST",
        "/v1/fleets/preview",
        "--raw-field",
        `subject=${DEAD.slug}`,
        "--raw-field",
        "robots[]=arm-1",
      );
      return JSON.parse(out).robots[0].reason;
    };
    await create("dead", DEAD.slug, ...ARMS);
    await expect.poll(preview).toContain("unhealthy since");
    const { err } = await create("dead too", DEAD.slug, ...ARMS, "--robot", "cart");
    expect(err).toMatch(
      /^would wait: arm-1 and 2 more: The endpoint in us-west-2 has been unhealthy since \d\d:\d\dZ \(.+\): /m,
    );
  });

  it("--wait of one that some robots do not suit: 6", async () => {
    const { exit_code: exitCode, err } = await create("mixed", PICKY.slug, ...ARMS, "--robot", "cart", "--wait");
    expect([exitCode, err]).toEqual([6, expect.stringContaining("[fleet-degraded]")]);
  });

  it("--wait --timeout: 1 when the time is over, with the fleet as it is", async () => {
    const {
      exit_code: exitCode,
      out,
      err,
    } = await create("late", DEAD.slug, ...ARMS, "--wait", "--timeout", "0s", "--json");
    expect([exitCode, JSON.parse(out), err]).toEqual([
      1,
      expect.objectContaining({ name: "late", status: "preparing" }),
      expect.stringContaining("[timeout]"),
    ]);
  });

  it("--wait of a schedule that has not begun ends when everything is prepared", async () => {
    const window = "2098-01-01T00:00:00Z/2098-01-01T08:00:00+01:00";
    const { exit_code: exitCode, out } = await create(
      "night",
      STEADY.slug,
      ...ARMS,
      "--window",
      window,
      "--wait",
      "--json",
    );
    expect([exitCode, JSON.parse(out)]).toEqual([
      0,
      expect.objectContaining({ status: "preparing", readiness_mode: "scheduled" }),
    ]);
  });

  it("interrupted while it waits: 130", async () => {
    const interrupt = new AbortController();
    const onOutput = (text: string) => {
      if (text.includes("is created")) interrupt.abort();
    };
    const cut = ["fleets", "create", "--name", "cut", "--model", DEAD.slug, ...ARMS, "--wait"];
    const ran = await site.runWith({ ...surroundings(site.urls.whole), signal: interrupt.signal, onOutput }, ...cut);
    expect(ran.exit_code).toBe(130);
  });

  it("--dry-run: the exact request, made of file and flags", async () => {
    const from = await write(
      "fleet.yaml",
      `name: from-file\nsubject: ${STEADY.slug}\nselection:\n  selector: {site: lab, labels: {cell: "4"}}\npeak_active_robots: 2\n`,
    );
    const { exit_code: exitCode, out } = await site.run(
      "fleets",
      "create",
      "--from",
      from,
      "--name",
      "other",
      "--dry-run",
      "--json",
    );
    expect([exitCode, JSON.parse(out)]).toMatchObject([
      0,
      {
        method: "POST",
        url: `${site.urls.whole}/v1/fleets`,
        body: {
          name: "other",
          subject: STEADY.slug,
          selection: { selector: { site: "lab", labels: { cell: "4" } } },
          peak_active_robots: 2,
          readiness_mode: "always_ready",
        },
      },
    ]);
  });

  it("--from: the example is a fleet", async () => {
    const from = join(import.meta.dirname, "../../../config/fleet.example.yaml");
    const { exit_code: exitCode, out } = await site.run("fleets", "create", "--from", from, "--dry-run", "--json");
    expect(exitCode).toBe(0);
    expect(fleetCreateSchema.parse(JSON.parse(out).body)).toMatchObject({
      name: "packing",
      selection: { selector: { site: "plant-1", labels: { cell: "packing" } } },
    });
  });

  it("--from: everything that is wrong at once, at file:line:column with what was meant", async () => {
    const from = await write(
      "bad.yaml",
      `nmae: x\nsubject: ""\nselection:\n  robots: [arm-1]\n  selector: {stie: lab}\npeak_active_robots: 0\nreadiness_mode: allways_ready\noperating_windows:\n  - {starts_at: 2030-01-01, ends_at: 2030-01-02T00:00:00Z}\nmodel: y\n`,
    );
    const { exit_code: exitCode, err } = await site.run("fleets", "create", "--from", from);
    const heads = err
      .split("\n")
      .filter((line) => line.includes(": error "))
      .map((line) => line.slice(from.length + 1));
    expect([exitCode, heads]).toEqual([
      3,
      [
        "1:1: error missing: name is required",
        "1:1: error unknown_key: unknown key nmae; did you mean name?",
        "2:10: error text_format: expected a non-empty text",
        "4:3: error selection: exactly one of robots and selector is required",
        "5:14: error unknown_key: unknown key stie; did you mean site?",
        "6:21: error out_of_range: 0 is outside the range: 1 to 1000",
        "7:17: error not_allowed: allways_ready is not one of always_ready, scheduled, on_demand; did you mean always_ready?",
        "9:17: error date_time: 2030-01-01 is not a time with a UTC offset, such as 2030-01-31T08:00:00+01:00",
        "10:1: error unknown_key: unknown key model; did you mean subject?",
      ],
    ]);
  });

  it("--from: what the service alone can tell is at file:line:column too, on either service", async () => {
    const from = await write(
      "refused.yaml",
      `name: refused\nsubject: no-such-model\nselection:\n  robots:\n    - arm-1\n    - nobody\npeak_active_robots: 1\n`,
    );
    for (const run of [site.run, eleven]) {
      const { exit_code: exitCode, err } = await run("fleets", "create", "--from", from);
      expect(exitCode).toBe(6);
      expect(err).toContain(`${from}:6:7 "nobody": no robot has this name or id`);
      expect(err).toContain(`${from}:2:10 "no-such-model": no model or checkpoint has this name`);
    }
  });

  it("what is wrong with flags is told by flag", async () => {
    const words = ["--site", "no where", "--label", "line=4", "--peak", "9"];
    for (const run of [site.run, eleven]) {
      const { exit_code: exitCode, err } = await run(
        "fleets",
        "create",
        "--name",
        "x",
        "--model",
        STEADY.slug,
        ...words,
      );
      expect([exitCode, err]).toEqual([
        6,
        "error: no robot matches --site 'no where' --label line=4 [value_error]\n" +
          "  → leave one out, or list sites and labels: robot-policy robots list\n",
      ]);
    }
  });

  it.each<[words: readonly string[], err: RegExp]>([
    [[], /incomplete[^]*give --name; --model; --robot, or --site[^]*--peak/],
    [["--name", "x", "--model", "m", "--site", "s"], /incomplete[^]*give --peak\n/],
    [["--robot", "a", "--site", "s"], /--robot and a selector were both given/],
    [["--peak", "many"], /--peak 'many' is not a number/],
    [["--window", "2030-01-01/2030-01-02"], /--window '2030-01-01\/2030-01-02' is not START\/END/],
    [["--timeout", "soon"], /--timeout 'soon' is not a duration/],
    [["--mode", "never"], /never/],
  ])("usage: %j", async (words, err) => {
    expect(await site.run("fleets", "create", ...words)).toMatchObject({
      exit_code: 2,
      err: expect.stringMatching(err),
    });
  });

  it("a name that is taken: 7", async () => {
    await create("taken", STEADY.slug, ...ARMS);
    expect(await create("taken", STEADY.slug, ...ARMS)).toMatchObject({ exit_code: 7 });
  });

  it("a key that may create but not look needs no preview", async () => {
    const answer = await site.service.send("POST", "/v1/me/api-keys", { label: "maker", scopes: ["fleets:write"] });
    const { api_key: apiKey } = (await answer.json()) as { api_key: string };
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: apiKey };
    const words = ["fleets", "create", "--name", "made", "--model", STEADY.slug, ...ARMS];
    expect((await site.runWith({ environment }, ...words)).exit_code).toBe(0);
  });
});

describe("fleets show", () => {
  beforeAll(async () => void (await create("why", PICKY.slug, ...ARMS, "--robot", "cart", "--wait")));

  it("tells why: the blocker, then members grouped by what keeps them", async () => {
    const { exit_code: exitCode, out } = await site.run("fleets", "show", "why");
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
    const { exit_code: exitCode, out, err } = await eleven("fleets", "show", "why");
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^why {2}degraded {2}fleet_/)]);
    expect(err).toBe("This service does not show members, windows and generations.\n");
    expect(JSON.parse((await eleven("fleets", "show", "why", "--json")).out)).toMatchObject({ details: null });
  });

  it("by id on both services; a name that is nobody's: 6", async () => {
    const { id } = JSON.parse((await site.run("fleets", "show", "why", "--json")).out);
    for (const run of [site.run, eleven]) {
      expect((await run("fleets", "show", id)).exit_code).toBe(0);
      expect(await run("fleets", "show", "nobody")).toMatchObject({
        exit_code: 6,
        err: expect.stringContaining("[not-found]"),
      });
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
  const at80 = (...words: string[]) =>
    site.runWith({ ...surroundings(site.urls.whole), columns: 80 }, "fleets", "list", ...words);

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
    const { exit_code: exitCode, out } = await eleven("fleets", "list", "--status", "blocked");
    expect([exitCode, out]).toEqual([
      0,
      expect.stringMatching(
        /^list-alike-1 +blocked +0\/1 +picky-vla +No robot of this fleet can run picky-vla +fleet_/m,
      ),
    ]);
  });
});

describe("fleets update-model", () => {
  it("--wait: 0 once the fleet uses the new model", async () => {
    await create("update", STEADY.oldest, ...ARMS, "--wait");
    const { exit_code: exitCode, out, err } = await site.run("fleets", "update-model", "update", STEADY.slug, "--wait");
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^model +pi0\.5 \(active\)$/m)]);
    expect(err).toContain(`update is being updated to ${STEADY.slug}; ${STEADY.oldest} serves until that is ready`);
    expect(await site.run("fleets", "update-model", "update", STEADY.slug, "--wait")).toMatchObject({
      exit_code: 0,
      err: expect.stringContaining("there is nothing to update"),
    });
  });

  it("--wait: 6 where the update is blocked, with its blocker", async () => {
    await create("stays", STEADY.slug, "--robot", "cart", "--wait");
    const { exit_code: exitCode, err } = await site.run("fleets", "update-model", "stays", PICKY.slug, "--wait");
    expect(exitCode).toBe(6);
    expect(err).toMatch(/cart: picky-vla needs a robot of type .*\[update-blocked\]/);
  });

  it("--wait: 7 where another update takes its place", async () => {
    await create("raced", STEADY.slug, ...ARMS, "--wait");
    const { id } = JSON.parse((await site.run("fleets", "show", "raced", "--json")).out);
    let isReplaced = false;
    const onOutput = (text: string) => {
      if (isReplaced || !text.includes("update to")) return;
      isReplaced = true;
      void site.service.send("POST", `/v1/fleets/${id}/model`, { subject: SHAKY.slug });
    };
    const words = ["fleets", "update-model", "raced", DEAD.slug, "--wait"];
    const ran = await site.runWith({ ...surroundings(site.urls.whole), onOutput }, ...words);
    expect(ran).toMatchObject({ exit_code: 7, err: expect.stringContaining("[superseded]") });
  });

  it("a model that is not there is told as MODEL; --dry-run sends nothing", async () => {
    await create("dry", STEADY.slug, ...ARMS);
    expect(await site.run("fleets", "update-model", "dry", "none")).toMatchObject({
      exit_code: 6,
      err: expect.stringContaining('MODEL "none": no model or checkpoint has this name'),
    });
    const { out } = await site.run("fleets", "update-model", "dry", DEAD.slug, "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({ method: "POST", body: { subject: DEAD.slug } });
    expect(JSON.parse((await site.run("fleets", "show", "dry", "--json")).out)).toMatchObject({ update: null });
  });
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
    const {
      exit_code: exitCode,
      out,
      err,
    } = await site.runWith({ ...surroundings(site.urls.whole), onOutput }, ...words);
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^cold-vla on arm-2 is active \(dep_\w+\), at http/)]);
    expect(err).toBe("cold-vla on arm-2 is preparing\n");
  });

  it("on the documented service: what is active at once ends well, what is not cannot be waited on", async () => {
    expect((await eleven("deploy", STEADY.slug, "--robot", "arm-1", "--wait")).exit_code).toBe(0);
    expect(await eleven("deploy", DEAD.slug, "--robot", "arm-1", "--wait")).toMatchObject({
      exit_code: 6,
      err: expect.stringContaining("[not-offered]"),
    });
  });

  it("a robot that the model does not suit: 6, at --robot", async () => {
    const { exit_code: exitCode, err } = await site.run("deploy", PICKY.slug, "--robot", "cart");
    expect([exitCode, err]).toEqual([
      6,
      expect.stringMatching(/^error: --robot "cart": the model needs a robot of type/),
    ]);
  });

  it.each<[words: readonly string[], err: string]>([
    [["deploy", "m"], "no robot is given"],
    [["deploy", "m", "--robot", "a", "--robot", "b"], "a deployment is for one robot"],
  ])("usage: %j", async (words, err) => {
    expect(await site.run(...words)).toMatchObject({ exit_code: 2, err: expect.stringContaining(err) });
  });

  it("--dry-run", async () => {
    const { out } = await site.run("deploy", "m", "--robot", "a", "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({ method: "POST", body: { model: "m", robot: "a" } });
  });
});
