import { setTimeout } from "node:timers/promises";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { apiKeyCreatedSchema } from "../../../src/api/keys.ts";
import { REGION, ROBOT_TYPE } from "../../conformance/api/catalog.ts";
import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";

const ROBOTS: readonly [name: string, more: object][] = [
  ["arm-1", { site: "lab", labels: { cell: "4", team: "a" } }],
  ["arm-10", { site: "lab", region: "moon" }],
  ["arm-2", { site: "yard", labels: { cell: "4" } }],
  ["cart", { robot_type_id: "wheelbarrow" }],
];

async function openSite(): Promise<OperatorSite> {
  const opened = await openOperatorSite();
  for (const [name, more] of ROBOTS) {
    await opened.register(name, more);
    // The service tells times in milliseconds: two robots of the same one have no order.
    await setTimeout(2);
  }
  return opened;
}

let site: OperatorSite;
/** A site for the tests of the surrounding `describe`. */
function useSite(): void {
  beforeAll(async () => void (site = await openSite()));
  afterAll(() => site[Symbol.asyncDispose]());
}

const firstColumn = (text: string) =>
  text
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.split(" ")[0]);

describe("robots list", () => {
  useSite();

  it.each<[args: readonly string[], names: readonly string[]]>([
    [
      ["--site", "lab"],
      ["arm-1", "arm-10"],
    ],
    [["--region", "moon"], ["arm-10"]],
    [["--type", "wheelbarrow"], ["cart"]],
    [
      ["--label", "cell=4"],
      ["arm-1", "arm-2"],
    ],
    [["--label", "cell=4", "--label", "team=a"], ["arm-1"]],
    [["--label", "toString="], []],
    [
      ["--sort", "name"],
      ["arm-1", "arm-2", "arm-10", "cart"],
    ],
    [
      ["--columns", "name", "--sort", "changed"],
      ["cart", "arm-2", "arm-10", "arm-1"],
    ],
  ])("%j", async (args, names) => {
    const { exitCode, out } = await site.run("robots", "list", ...args);
    expect([exitCode, firstColumn(out)]).toEqual([0, names]);
  });

  it("--sort changed: a robot registers again with another digest → it comes first", async () => {
    await using freshSite = await openSite();
    await freshSite.register("arm-1", {
      site: "lab",
      labels: { cell: "4", team: "a" },
      configuration_digest: `sha256:${"7".repeat(64)}`,
    });
    const { out } = await freshSite.run(
      "robots",
      "ls",
      "--columns",
      "name,digest,changed,registered",
      "--sort=changed",
    );
    expect(out.split("\n")[1]).toMatch(/^arm-1 +sha256:777777777777 +(\S+Z) +\1/);
    const { out: json } = await freshSite.run("robots", "list", "--columns", "digest", "--site", "lab", "--json");
    expect(JSON.parse(json)).toMatchObject([
      { name: "arm-1", registration: { configuration_digest: `sha256:${"7".repeat(64)}` } },
      { name: "arm-10" },
    ]);
  });

  it("labels appear in the syntax of --label, also on a narrow terminal", async () => {
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: site.service.key };
    const { out } = await site.runWith({ environment, columns: 80 }, "robots", "list", "--label", "team=a");
    expect(out).toMatch(/LABELS +ADDED\narm-1 +.* cell=4 team=a +(?:now|\d+ s ago)\n$/);
  });

  it("narrow terminal → says which columns it hides; --columns shows them", async () => {
    const at80 = { columns: 80 };
    const narrow = await site.runWith(at80, "robots", "list");
    expect(narrow.out.split("\n")[0]).toMatch(/^NAME +STATE +SITE +TYPE +REGION +LABELS +ADDED$/);
    expect(narrow.err).toBe("");
    const narrower = await site.runWith({ ...at80, columns: 60 }, "robots", "list");
    expect(narrower.err).toBe("2 columns hidden: labels, added; --columns shows them\n");
    // Output that is not a terminal has every column.
    expect((await site.run("robots", "list")).err).toBe("");
  });

  it("--columns: only these, in this order, with a value in every row", async () => {
    const { out, err } = await site.runWith(
      { columns: 80 },
      "robots",
      "list",
      "--columns",
      "digest, name,ID,labels",
      "--sort",
      "name",
    );
    expect(out).toMatch(
      /^DIGEST +NAME +ID +LABELS\n(?:sha256:\w{12} +arm-1 +rob_\w{26} +cell=4 team=a\n)[^]*sha256:0{12} +cart +rob_\w{26} +-\n$/,
    );
    expect(err).toBe("");
  });

  it.each([
    ["nmae", "--columns 'nmae' is not a column of this list [usage]\n  → did you mean name?"],
    [
      "name,weight_in_tons",
      "is not a column of this list [usage]\n  → it has name, state, reason, site, type, region, labels, ",
    ],
    [",", "--columns '' is not a column of this list"],
  ])("--columns %s → exit 2", async (columns, message) => {
    expect(await site.run("robots", "list", "--columns", columns)).toMatchObject(endedWith(2, message));
  });

  it("--label without = → exit 2", async () => {
    expect(await site.run("robots", "list", "--label", "cell")).toMatchObject(
      endedWith(2, "--label 'cell' is not name=value"),
    );
  });

  it("the same label with two values → exit 2", async () => {
    expect(await site.run("robots", "list", "--label", "cell=4", "--label", "cell=5")).toMatchObject(
      endedWith(2, "--label 'cell' is given twice"),
    );
  });

  it("--sort changed on a service without digests → says so and shows the other columns", async () => {
    const { exitCode, out, err } = await site.eleven("robots", "list", "--sort", "changed");
    expect([exitCode, out.split("\n")[0], err]).toEqual([
      0,
      expect.stringMatching(/^NAME +STATE +SITE +TYPE +REGION +LABELS +ADDED$/),
      "This service does not show digests and when they changed.\n",
    ]);
  });
});

describe("robots show", () => {
  useSite();

  it("name or id → the robot and its registration", async () => {
    const { out } = await site.run("robots", "show", "arm-2");
    const id = /\((rob_\w+)\)/.exec(out)?.[1] ?? "";
    // Compared as JSON: the text contains relative times.
    const [byName, byId] = [
      await site.run("robots", "show", "arm-2", "--json"),
      await site.run("robots", "show", id, "--json"),
    ];
    expect(byId).toEqual(byName);
    expect(byId).toMatchObject({ exitCode: 0, out: expect.stringContaining('"arm-2"') });
    expect(out).toMatch(/^labels +cell=4$/m);
    expect(out).toMatch(/^digest +sha256:0{64}$/m);
  });

  it("robots history → what changed, and who changed it", async () => {
    await site.register("mover", { site: "a" });
    await site.register("mover", { site: "b" });
    const { out } = await site.run("robots", "history", "mover");
    expect(out).toMatch(
      /WHEN +CHANGED +DIGEST +BY +FROM +ID\n\S+Z +site \(now b\) +sha256:0{12} +bootstrap +127.0.0.1 +aud_\S+\n\S+Z +first registration on record +sha256:0{12} +bootstrap +127.0.0.1 +aud_/,
    );
    const json = await site.json("robots", "history", "mover");
    expect(json).toMatchObject({ items: [{ changed: ["site"] }, { changed: null }] });
  });

  it.each([
    ["the whole service", () => site.run("robots", "show", "nobody")],
    ["the documented one", () => site.eleven("robots", "show", "nobody")],
  ])("one that is not there: 6, on %s", async (_what, run) => {
    expect(await run()).toMatchObject(endedWith(6, "[not-found]"));
  });

  it("two computers register one name in turn → since when, from where, and the remedy", async () => {
    const { url } = site.service;
    const keys = await Promise.all(
      ["cell 4", "cell 7"].map(async (label) => {
        const { out } = await site.run("keys", "create", label, "--scope", "robots:setup", "--json");
        return apiKeyCreatedSchema.parse(JSON.parse(out)).api_key;
      }),
    );
    for (const [index, digit] of ["1", "2", "1"].entries()) {
      const body = {
        name: "clone",
        robot_type_id: ROBOT_TYPE,
        region: REGION,
        configuration_digest: `sha256:${digit.repeat(64)}`,
      };
      const headers = { authorization: `Bearer ${keys[index % 2]}`, "content-type": "application/json" };
      const answer = await fetch(`${url}/v1/robots/setup`, { method: "POST", headers, body: JSON.stringify(body) });
      expect(answer.status).toBe(200);
    }
    const { out } = await site.run("robots", "show", "clone");
    expect(out.replace(/since \S+Z/, "since now")).toContain(
      `needs       2 computers register this name in turn, since now
            From 127.0.0.1 (cell 4) and 127.0.0.1 (cell 7)
            → Give each computer its own name
`,
    );
    const history = await site.run("robots", "history", "clone");
    expect(history.out).toMatch(
      /^\S+Z +configuration files \(contested\) +sha256:111111111111 +cell 4 +127\.0\.0\.1 +aud_/m,
    );
    expect((await site.run("robots", "list")).out).toMatch(/^clone +contested, \S+Z /m);
  });

  it("region without an endpoint → setup and show warn", async () => {
    const warning = /^warning: no endpoint is in the region us-west-3 \(did you mean us-west-2\?\)\.$/m;
    const args = ["--name", "far", "--type", ROBOT_TYPE, "--region", "us-west-3"];
    const setup = await site.run("robots", "setup", ...args);
    expect([setup.exitCode, setup.err]).toEqual([0, expect.stringMatching(warning)]);
    expect((await site.run("robots", "show", "far")).err).toMatch(warning);
    // The second setup does not change the region, so it does not warn again.
    expect((await site.run("robots", "setup", ...args)).err).not.toMatch(warning);
    expect((await site.run("robots", "show", "arm-1")).err).not.toContain("region");
  });

  it("types that agents registered and nobody knows → show says so", async () => {
    await site.register("typo", { robot_type_id: "lerobot.so101-folower.v1" });
    await site.register("own", { robot_type_id: "acme.cart.v1", contract: { cameras: 2 } });
    const warning = "warning: lerobot.so101-folower.v1 is not in the robot type catalog";
    const meant = "(did you mean lerobot.so101-follower.v1?)";
    expect((await site.run("robots", "show", "typo")).err).toContain(`${warning} and has no contract ${meant}.`);
    expect((await site.run("robots", "show", "own")).err).not.toContain("catalog");
  });

  it("keys create --enroll with a region without an endpoint → warns", async () => {
    const args = ["--enroll", "--uses", "5", "--expires", "1d", "--region", "us-west-3"];
    expect(await site.run("keys", "create", "images", ...args)).toMatchObject(
      endedWith(0, /^warning: no endpoint is in the region us-west-3 \(did you mean us-west-2\?\)\.$/m),
    );
  });

  it("documented service → shows the robot from the list, and says which details the service lacks", async () => {
    const { exitCode, out, err } = await site.eleven("robots", "show", "arm-2", "--contract");
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^robot +arm-2 \(rob_/)]);
    expect(err).toBe("This service does not show contracts.\n");
    const json = JSON.parse((await site.eleven("robots", "show", "arm-2", "--json")).out);
    expect(json).toMatchObject({ name: "arm-2", registration: null });
  });

  it("a robot named setup, as the path /v1/robots/setup → found", async () => {
    await site.register("setup");
    expect(await site.run("robots", "show", "setup")).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/^robot +setup /),
    });
  });
});
