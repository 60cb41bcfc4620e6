import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { fleetCreateSchema } from "../../../src/api/fleets.ts";
import { DEAD, PICKY, STEADY } from "../../conformance/api/catalog.ts";
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

describe("fleets create", () => {
  it("--wait: the fleet becomes ready → members, a line for each change, and exit 0", async () => {
    const { exitCode, out, err } = await create("ready", STEADY.slug, ...ARMS, "--wait");
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^ready {2}ready {2}fleet_\w+\n2 ready of 2\n/)]);
    expect(err).toMatch(/^2 robots; all can run the model: arm-1, arm-2\nThe fleet ready is created \(fleet_\w+\)\.\n/);
    // The result on stdout says so already.
    expect(err).not.toContain("ready is ready");
  });

  it("--wait on the documented service → the same", async () => {
    const args = ["fleets", "create", "--name", "eleven", "--model", STEADY.slug, ...ARMS, "--wait", "--json"];
    const { exitCode, out } = await site.eleven(...args);
    expect([exitCode, JSON.parse(out)]).toEqual([0, expect.objectContaining({ name: "eleven", status: "ready" })]);
  });

  it("--wait: the fleet is blocked → exit 6 with the blocker", async () => {
    const { exitCode, err } = await create("blocked", PICKY.slug, "--robot", "cart", "--wait");
    expect(exitCode).toBe(6);
    expect(err).toContain(`cannot run it: cart: ${PICKY.slug} needs a robot of type`);
    expect(err).toContain("[fleet-blocked]");
  });

  it("an endpoint does not answer → the preview names its robots before the question", async () => {
    const preview = async () => {
      const input = JSON.stringify({ subject: DEAD.slug, robots: ["arm-1"] });
      const { out } = await site.runWith({ input }, "api", "POST", "/v1/fleets/preview", "--input", "-");
      return JSON.parse(out).robots[0].reason;
    };
    await create("dead", DEAD.slug, ...ARMS);
    await expect.poll(preview).toContain("unhealthy since");
    const { err } = await create("dead too", DEAD.slug, ...ARMS, "--robot", "cart");
    expect(err).toMatch(/^would wait: arm-1, arm-2, cart: The endpoint in us-west-2 has been unhealthy since \S+Z: /m);
  });

  it("--wait: the model does not suit some robots → exit 6", async () => {
    expect(await create("mixed", PICKY.slug, ...ARMS, "--robot", "cart", "--wait")).toMatchObject(
      endedWith(6, "[fleet-degraded]"),
    );
  });

  it("--wait --timeout: the time is over → exit 1 with the fleet's current state", async () => {
    const { exitCode, out, err } = await create("late", DEAD.slug, ...ARMS, "--wait", "--timeout", "0s", "--json");
    expect([exitCode, JSON.parse(out), err]).toEqual([
      1,
      expect.objectContaining({ name: "late", status: "preparing" }),
      expect.stringContaining("[timeout]"),
    ]);
  });

  it("--wait: the schedule begins soon → ends when it has begun, and not once everything is prepared", async () => {
    const window = `${new Date(Date.now() + 1500).toISOString()}/2098-01-01T08:00:00+01:00`;
    const { exitCode, out } = await create("night", STEADY.slug, ...ARMS, "--window", window, "--wait", "--json");
    expect([exitCode, JSON.parse(out)]).toEqual([
      0,
      expect.objectContaining({ status: "ready", readiness_mode: "scheduled" }),
    ]);
  });

  it("--wait: interrupted → exit 130", async () => {
    const interrupt = new AbortController();
    const onOutput = (text: string) => {
      if (text.includes("is created")) interrupt.abort();
    };
    const cut = ["fleets", "create", "--name", "cut", "--model", DEAD.slug, ...ARMS, "--wait"];
    const ran = await site.runWith({ signal: interrupt.signal, onOutput }, ...cut);
    expect(ran.exitCode).toBe(130);
  });

  it("--dry-run → the exact request", async () => {
    const args = ["--name", "dry", "--model", STEADY.slug, "--site", "lab", "--label", "cell=4", "--peak", "2"];
    const { exitCode, out } = await site.run("fleets", "create", ...args, "--dry-run", "--json");
    const { method, url, body } = JSON.parse(out);
    expect([exitCode, method, url]).toEqual([0, "POST", `${site.urls.whole}/v1/fleets`]);
    expect(fleetCreateSchema.parse(body)).toMatchObject({
      name: "dry",
      subject: STEADY.slug,
      selection: { selector: { site: "lab", labels: { cell: "4" } } },
      peak_active_robots: 2,
      readiness_mode: "always_ready",
    });
  });

  it("mistakes that only the service finds → at the flags, on both services", async () => {
    const args = ["--name", "refused", "--model", "no-such-model", "--robot", "arm-1", "--robot", "nobody"];
    for (const run of [site.run, site.eleven]) {
      const { exitCode, err } = await run("fleets", "create", ...args);
      expect(exitCode).toBe(6);
      expect(err).toContain('--robot "nobody": no robot has this name or id');
      expect(err).toContain('--model "no-such-model": no model or checkpoint has this name');
    }
  });

  it("wrong values of flags → a finding for each flag", async () => {
    const args = ["--site", "no where", "--label", "line=4", "--peak", "9"];
    for (const run of [site.run, site.eleven]) {
      expect(await run("fleets", "create", "--name", "x", "--model", STEADY.slug, ...args)).toMatchObject({
        exitCode: 6,
        err:
          `error: --robot, or --site, --region, --type, --label {"site":"no where","labels":{"line":"4"}}: ` +
          "no robot matches [value_error]\n  → robot-policy robots list shows valid names\n",
      });
    }
  });

  it.each<[args: readonly string[], err: RegExp]>([
    [["--robot", "a", "--site", "s"], /--robot and --site exclude each other/],
    [["--peak", "many"], /--peak 'many' is not a number/],
    [["--window", "2030-01-01/2030-01-02"], /--window '2030-01-01\/2030-01-02' is not START\/END/],
    [["--wait", "--timeout", "soon"], /--timeout 'soon' is not a duration/],
    [["--mode", "never"], /never/],
    [["--membership", "follow"], /unknown option '--membership'/],
  ])("usage: %j", async (args, err) => {
    const named = ["--name", "x", "--model", STEADY.slug];
    expect(await site.run("fleets", "create", ...named, ...args)).toMatchObject(endedWith(2, err));
  });

  it("no robots, no peak → the flags that give them", async () => {
    const incomplete = ["fleets", "create", "--name", "x", "--model", STEADY.slug];
    expect(await site.run(...incomplete)).toMatchObject(endedWith(6, "--robot, or --site"));
    expect(await site.run(...incomplete, "--site", "lab")).toMatchObject(endedWith(6, "--peak"));
  });

  it("a taken name → exit 7", async () => {
    await create("taken", STEADY.slug, ...ARMS);
    expect(await create("taken", STEADY.slug, ...ARMS)).toMatchObject({ exitCode: 7 });
  });

  it("a key that may create but not read fleets → created without a preview", async () => {
    const answer = await site.service.send("POST", "/v1/me/api-keys", { label: "maker", scopes: ["fleets:write"] });
    const { api_key: apiKey } = (await answer.json()) as { api_key: string };
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: apiKey };
    const args = ["fleets", "create", "--name", "made", "--model", STEADY.slug, ...ARMS];
    expect((await site.runWith({ environment }, ...args)).exitCode).toBe(0);
  });
});
