import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { apiKeyCreatedSchema } from "../../../src/api/keys.ts";
import { robotSetupSchema } from "../../../src/api/robots.ts";
import { REGION, ROBOT_TYPE } from "../../conformance/api/catalog.ts";
import type { OperatorSite } from "../../support/operator/operator.ts";
import { openOperatorSite } from "../../support/operator/operator.ts";
import { customManifest } from "../../support/robot/custom-manifest.ts";

async function openSite(): Promise<OperatorSite> {
  const opened = await openOperatorSite();
  await opened.register("arm-1", { site: "lab", labels: { cell: "4", team: "a" } });
  await opened.register("arm-10", { site: "lab", region: "moon" });
  await opened.register("arm-2", { site: "yard", labels: { cell: "4" } });
  await opened.register("cart", { robot_type_id: "wheelbarrow" });
  return opened;
}

let site: OperatorSite;
/** A site for the tests of the surrounding `describe`. */
function useSite(): void {
  beforeAll(async () => void (site = await openSite()));
  afterAll(() => site[Symbol.asyncDispose]());
}

const eleven = (...words: string[]) =>
  site.runWith(
    { environment: { ROBOT_POLICY_URL: site.urls.eleven, ROBOT_POLICY_API_KEY: site.service.key } },
    ...words,
  );
const whole = () => ({ ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: site.service.key });
const DIGEST = `sha256:${"0".repeat(64)}`;
const OTHER_DIGEST = `sha256:${"7".repeat(64)}`;
const firstColumn = (text: string) =>
  text
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.split(" ")[0]);
const digestBySha256sum = (...paths: string[]) =>
  `sha256:${execFileSync("sh", ["-c", 'sha256sum "$@" | cut -c1-64 | sha256sum | cut -c1-64', "sh", ...paths], { encoding: "utf8" }).trim()}`;

async function write(name: string, text: string): Promise<string> {
  const path = join(site.home, name);
  await writeFile(path, text);
  return path;
}

describe("robots list", () => {
  useSite();

  it.each<[words: readonly string[], names: readonly string[]]>([
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
      ["--digest", "--sort", "changed"],
      ["cart", "arm-2", "arm-10", "arm-1"],
    ],
  ])("%j", async (words, names) => {
    const { exit_code: exitCode, out } = await site.run("robots", "list", ...words);
    expect([exitCode, firstColumn(out)]).toEqual([0, names]);
  });

  it("a robot that registers again with another digest comes first by --sort changed", async () => {
    await using own = await openSite();
    await own.register("arm-1", {
      site: "lab",
      labels: { cell: "4", team: "a" },
      configuration_digest: `sha256:${"7".repeat(64)}`,
    });
    const { out } = await own.run("robots", "ls", "--digest", "--sort", "changed");
    expect(out.split("\n")[1]).toMatch(/^arm-1 +lab +sha256:777777777777 +now +now/);
    const { out: json } = await own.run("robots", "list", "--digest", "--site", "lab", "--json");
    expect(JSON.parse(json)).toMatchObject([
      { name: "arm-1", registration: { configuration_digest: `sha256:${"7".repeat(64)}` } },
      { name: "arm-10" },
    ]);
  });

  it("shows labels as --label takes them, also where the terminal is narrow", async () => {
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: site.service.key };
    const { out } = await site.runWith({ environment, columns: 80 }, "robots", "list", "--label", "team=a");
    expect(out).toMatch(/ADDED +LABELS\narm-1 +.* cell=4 team=a\n$/);
  });

  it("says which columns a narrow terminal has no room for, and --wide shows them", async () => {
    const at80 = { environment: whole(), columns: 80 };
    const narrow = await site.runWith(at80, "robots", "list");
    expect(narrow.out.split("\n")[0]).toMatch(/^NAME +TYPE +REGION +SITE +ADDED +LABELS$/);
    expect(narrow.err).toBe("1 column hidden: id; --wide or --columns\n");
    const narrower = await site.runWith({ ...at80, columns: 60 }, "robots", "list");
    expect(narrower.err).toBe("2 columns hidden: added, id; --wide or --columns\n");
    const wide = await site.runWith(at80, "robots", "list", "--wide");
    expect([wide.out.split("\n")[0], wide.err]).toEqual([expect.stringMatching(/ID$/), ""]);
    // Nothing is hidden from a program.
    expect((await site.run("robots", "list")).err).toBe("");
  });

  it("--columns: those alone, in that order, each with something in every row", async () => {
    const { out, err } = await site.runWith(
      { environment: whole(), columns: 80 },
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
      "is not a column of this list [usage]\n  → it has name, type, region, site, added, labels, ",
    ],
    [",", "--columns '' is not a column of this list"],
  ])("--columns %s is a mistake of usage", async (columns, told) => {
    const { exit_code: exitCode, err } = await site.run("robots", "list", "--columns", columns);
    expect([exitCode, err]).toEqual([2, expect.stringContaining(told)]);
  });

  it("a label without = is refused before anything is sent", async () => {
    const { exit_code: exitCode, err } = await site.run("robots", "list", "--label", "cell");
    expect([exitCode, err]).toEqual([2, expect.stringContaining("--label 'cell' is not name=value")]);
  });

  it("refuses a label that is given twice, of which one would count for nothing", async () => {
    const { exit_code: exitCode, err } = await site.run("robots", "list", "--label", "cell=4", "--label", "cell=5");
    expect([exitCode, err]).toEqual([2, expect.stringContaining("--label 'cell' is given twice")]);
  });

  it("a service without digests: says so and shows the rest", async () => {
    const { exit_code: exitCode, out, err } = await eleven("robots", "list", "--digest");
    expect([exitCode, out.split("\n")[0], err]).toEqual([
      0,
      expect.stringMatching(/^NAME +TYPE +REGION +SITE +ADDED +LABELS +ID$/),
      "This service does not show digests and when they changed.\n",
    ]);
  });
});

describe("robots show", () => {
  useSite();

  it("by name and by id, with what it registered with", async () => {
    const { out } = await site.run("robots", "show", "arm-2");
    const id = /\((rob_\w+)\)/.exec(out)?.[1] ?? "";
    // Not as text, which says how long ago.
    const [byName, byId] = [
      await site.run("robots", "show", "arm-2", "--json"),
      await site.run("robots", "show", id, "--json"),
    ];
    expect(byId).toEqual(byName);
    expect(byId).toMatchObject({ exit_code: 0, out: expect.stringContaining('"arm-2"') });
    expect(out).toMatch(/^labels +cell=4$/m);
    expect(out).toMatch(/^digest +sha256:0{64}$/m);
  });

  it("--history: what changed, and by whom", async () => {
    await site.register("mover", { site: "a" });
    await site.register("mover", { site: "b" });
    const { out } = await site.run("robots", "show", "mover", "--history");
    expect(out).toMatch(
      /WHEN +DIGEST +CHANGED +BY +FROM\nnow +sha256:0{12} +site +bootstrap +127.0.0.1\nnow +sha256:0{12} +bootstrap +127.0.0.1\n/,
    );
    const json = JSON.parse((await site.run("robots", "show", "mover", "--history", "--json")).out);
    expect(json).toMatchObject({ name: "mover", history: { items: [{ changed: ["site"] }, { changed: null }] } });
  });

  it.each([
    ["the whole service", () => site.run("robots", "show", "nobody")],
    ["the documented one", () => eleven("robots", "show", "nobody")],
  ])("one that is not there: 6, on %s", async (_what, run) => {
    expect(await run()).toMatchObject({ exit_code: 6, err: expect.stringContaining("[not-found]") });
  });

  it("of a name that two computers register in turn: since when, from where, and what to do", async () => {
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
    const { out } = await site.run("robots", "show", "clone", "--history");
    expect(out).toContain(`contested   2 computers register this name in turn, since now
            from 127.0.0.1 (cell 4) and 127.0.0.1 (cell 7)
            → give each computer its own name
`);
    expect(out).toMatch(/^now +sha256:111111111111 +configuration_digest \(contested\) +cell 4 +127\.0\.0\.1$/m);
    expect((await site.run("robots", "list", "--digest")).out).toMatch(/^clone .* now, contested /m);
  });

  it("warns of a region that no endpoint is in, when it is registered and when it is shown", async () => {
    const warning = /^warning: no endpoint is in the region us-west-3 \(did you mean us-west-2\?\)\.$/m;
    const words = ["--name", "far", "--type", ROBOT_TYPE, "--region", "us-west-3"];
    const setup = await site.run("robots", "setup", ...words);
    expect([setup.exit_code, setup.err]).toEqual([0, expect.stringMatching(warning)]);
    expect((await site.run("robots", "show", "far")).err).toMatch(warning);
    // Told once: it stays where it is.
    expect((await site.run("robots", "setup", ...words)).err).not.toMatch(warning);
    expect((await site.run("robots", "show", "arm-1")).err).toBe("");
  });

  it("the documented service shows it from its list, and says what it does not keep", async () => {
    const { exit_code: exitCode, out, err } = await eleven("robots", "show", "arm-2", "--history", "--contract");
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^robot +arm-2 \(rob_/)]);
    expect(err).toBe("This service does not show contracts.\nThis service does not keep the history of robots.\n");
    const json = JSON.parse((await eleven("robots", "show", "arm-2", "--history", "--json")).out);
    expect(json).toMatchObject({ name: "arm-2", registration: null, history: null });
  });

  it("a robot called setup is found, although its name is an address of its own", async () => {
    await site.register("setup");
    expect(await site.run("robots", "show", "setup")).toMatchObject({
      exit_code: 0,
      out: expect.stringMatching(/^robot +setup /),
    });
  });
});

const ROBOT = ["--type", ROBOT_TYPE, "--region", REGION] as const;

describe("robots setup", () => {
  useSite();

  it("the digest of --file is that of the agent: content and order", async () => {
    const paths = [await write("a.json", '{"a":1}'), await write("b.json", '{"b":2}')] as const;
    const { exit_code: exitCode, out } = await site.run(
      "robots",
      "setup",
      "--name",
      "new",
      ...ROBOT,
      "--file",
      paths[1],
      "--file",
      paths[0],
    );
    expect([exitCode, out]).toEqual([
      0,
      expect.stringMatching(`^new is registered \\(rob_\\w+\\) with ${digestBySha256sum(paths[1], paths[0])}\\.\n$`),
    ]);
  });

  it("--from: reads a file, whose members flags replace", async () => {
    const file = await write("cal.yaml", "offset: 3\n");
    const from = await write(
      "robot.yaml",
      `name: from-file\nrobot_type_id: ${ROBOT_TYPE}\nregion: ${REGION}\nsite: lab\nlabels: {cell: "5"}\nconfiguration_files: [cal.yaml]\n`,
    );
    const { out } = await site.run("robots", "setup", "--from", from, "--site", "yard", "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({
      dry_run: true,
      method: "POST",
      url: `${site.urls.whole}/v1/robots/setup`,
      body: {
        name: "from-file",
        robot_type_id: ROBOT_TYPE,
        region: REGION,
        site: "yard",
        labels: { cell: "5" },
        configuration_digest: digestBySha256sum(file),
      },
    });
    expect(out).not.toContain(site.service.key);
    expect((await site.run("robots", "show", "from-file")).exit_code).toBe(6);
  });

  it("--from: the example is a robot", async () => {
    const from = join(import.meta.dirname, "../../../config/robot-setup.example.yaml");
    const { exit_code: exitCode, out } = await site.run("robots", "setup", "--from", from, "--dry-run", "--json");
    expect(exitCode).toBe(0);
    expect(robotSetupSchema.parse(JSON.parse(out).body)).toMatchObject({ name: "packing-cell-4", site: "plant-1" });
  });

  it("--manifest: type, files and contract of a custom robot, and robots show --contract shows them", async () => {
    const file = await write("bench.yaml", "x: 1\n");
    const manifest = await write("robot-manifest.yaml", customManifest([file]));
    const setUp = await site.run("robots", "setup", "--name", "bench", "--region", REGION, "--manifest", manifest);
    expect(setUp).toMatchObject({ exit_code: 0, out: expect.stringContaining(digestBySha256sum(file)) });
    expect((await site.run("robots", "show", "bench")).out).toContain("--contract shows it");
    const { out } = await site.run("robots", "show", "bench", "--contract");
    expect(out).not.toContain("--contract shows it");
    expect(out).toMatch(/^front +exterior +640 × 480 +30 fps/m);
    expect(out).toMatch(/^0 +arm\.shoulder\.position +rad +-1\.57\d* … 1\.57/m);
  });

  it("what the service refuses is shown where it is written: flag, line of the file, line of the manifest", async () => {
    const from = await write("long.yaml", `name: x\nregion: ${REGION}\nsite: ${"s".repeat(129)}\n`);
    const { exit_code: exitCode, err } = await site.run("robots", "setup", "--from", from, "--type", "t".repeat(257));
    expect(exitCode).toBe(6);
    expect(err).toContain(`--type "ttt`);
    expect(err).toContain(`${from}:3:7 "sss`);
  });

  it.each<[what: string, text: string, finding: RegExp]>([
    ["an unknown key", "nmae: x\n", /:1:1: error unknown_key: unknown key nmae; did you mean name\?/],
    ["a key of the fleet's", "name: x\ntype: y\n", /:2:1: error unknown_key: .*did you mean robot_type_id\?/],
    [
      "a number for a label",
      "labels: {cell: 4}\n",
      /:1:16: error wrong_type: expected a text, found a number; write it in quotes/,
    ],
    ["a digest that is none", "configuration_digest: sha256:abc\n", /:1:23: error digest_format/],
    ["an API key", "name: sk_rps_0123456789abcdefghij\n", /:1:7: error secret_in_registration/],
    ["no YAML", "name: [\n", /error yaml_syntax/],
  ])("--from with %s: 3, at file:line:column, and nothing is sent", async (_what, text, finding) => {
    const path = await write("bad.yaml", text);
    const { exit_code: exitCode, err } = await site.run("robots", "setup", "--from", path, "--name", "never", ...ROBOT);
    expect([exitCode, err]).toEqual([3, expect.stringMatching(finding)]);
    expect(err).not.toContain("0123456789abcdefghij");
    const json = await site.run("robots", "setup", "--from", path, "--name", "never", ...ROBOT, "--json");
    expect(JSON.parse(json.out).findings[0]).toMatchObject({ file: path, severity: "error" });
  });

  describe("of a robot that is registered already", () => {
    const held = { site: "lab", labels: { cell: "4" }, contract: { cameras: 2 } };
    const setUp = (...words: string[]) => ["robots", "setup", "--name", "held", "--type", ROBOT_TYPE, ...words];
    const sent = async (...words: string[]) =>
      JSON.parse((await site.run(...setUp(...words), "--dry-run", "--json")).out).body;
    const registration = async () => (await site.service.send("GET", "/v1/robots/held/registration")).json();
    beforeEach(() => site.register("held", held));

    it("keeps site, labels and contract, and tells what changes", async () => {
      const { exit_code: exitCode, err } = await site.run(
        ...setUp("--region", "moon", "--configuration-digest", OTHER_DIGEST),
      );
      expect([exitCode, err]).toEqual([
        0,
        "warning: no endpoint is in the region moon.\n" +
          "held is registered already. This changes it:\n" +
          `  region    ${REGION} → moon\n` +
          "  digest    sha256:000000000000 → sha256:777777777777\n" +
          "It keeps what is not given again: site lab, labels cell=4, its contract.\n",
      ]);
      expect(await registration()).toMatchObject({ ...held, region: "moon", configuration_digest: OTHER_DIGEST });
    });

    it("loses what it is told to lose, and its contract with its type", async () => {
      const kept = { name: "held", robot_type_id: ROBOT_TYPE, region: REGION, configuration_digest: DIGEST };
      const same = ["--region", REGION, "--configuration-digest", DIGEST];
      expect(await sent(...same)).toEqual({ ...kept, ...held });
      expect(await sent(...same, "--clear-site")).toEqual({ ...kept, labels: held.labels, contract: held.contract });
      expect(await sent(...same, "--label", "a=b")).toEqual({ ...kept, ...held, labels: { a: "b" } });
      expect(await sent(...same, "--clear-labels")).toEqual({ ...kept, site: "lab", contract: held.contract });
      expect(await sent(...same, "--type", "wheelbarrow")).toEqual({
        ...kept,
        robot_type_id: "wheelbarrow",
        site: "lab",
        labels: held.labels,
      });
    });

    it("asks nothing where nothing changes", async () => {
      const words = setUp("--region", REGION, "--configuration-digest", DIGEST);
      const { exit_code: exitCode, err } = await site.runWith({ environment: whole(), answers: [] }, ...words);
      expect([exitCode, err]).toEqual([0, ""]);
    });

    it("asks a person at the terminal, and changes nothing without a yes", async () => {
      const words = setUp("--region", "moon", "--configuration-digest", DIGEST);
      const declined = await site.runWith({ environment: whole(), answers: ["n"] }, ...words);
      expect(declined).toMatchObject({ exit_code: 1, err: expect.stringContaining("[not-confirmed]") });
      expect(await registration()).toMatchObject({ region: REGION });
      expect((await site.runWith({ environment: whole(), answers: ["y"] }, ...words)).exit_code).toBe(0);
      expect(await registration()).toMatchObject({ region: "moon" });
      const unasked = await site.runWith({ environment: whole(), answers: [] }, ...words, "--clear-site", "--yes");
      expect(unasked.exit_code).toBe(0);
    });

    it("keeps its site and labels also at a service with the documented operations alone", async () => {
      const words = setUp("--region", REGION, "--configuration-digest", OTHER_DIGEST);
      const { exit_code: exitCode, err } = await eleven(...words);
      expect([exitCode, err]).toEqual([
        0,
        "held is registered already. This changes it:\n" +
          "  digest    not shown → sha256:777777777777\n" +
          "  contract  not shown → none\n" +
          "It keeps what is not given again: site lab, labels cell=4.\n",
      ]);
    });

    it.each([
      ["--site", "x", "--clear-site"],
      ["--label", "a=b", "--clear-labels"],
    ])("%s %s and %s are a mistake of usage", async (...words) => {
      const { exit_code: exitCode, err } = await site.run(...setUp(...words));
      expect([exitCode, err]).toEqual([2, expect.stringContaining("were both given")]);
    });
  });

  it.each([
    ["--region", "https://user:pw@x", 2],
    ["--site", "see http://user:pw@wiki/4", 2],
    ["--label", "wiki=https://user:pw@x", 2],
  ])("%s holds no address with a password: it is refused, and not repeated", async (flag, value, exitCode) => {
    const words = ["--name", "x", "--type", ROBOT_TYPE, "--region", REGION, flag, value];
    const ran = await site.run("robots", "setup", ...words);
    expect(ran).toMatchObject({ exit_code: exitCode, out: "", err: expect.stringContaining(`error: ${flag}: `) });
    expect(ran.err).not.toContain("pw");
  });

  it("--from with a region that is none: 3, at its line", async () => {
    const from = await write("region.yaml", `name: x\nrobot_type_id: ${ROBOT_TYPE}\nregion: "my region"\n`);
    const { exit_code: exitCode, err } = await site.run("robots", "setup", "--from", from);
    expect([exitCode, err]).toEqual([3, expect.stringContaining(`${from}:3:9: expected the code of a region`)]);
  });

  it.each<[what: string, words: readonly string[], told: RegExp]>([
    [
      "is close to one",
      ["--type", "lerobot.so101-folower.v1"],
      /contract \(did you mean lerobot\.so101-follower\.v1\?\)\.$/m,
    ],
    [
      "is far from all",
      ["--type", "wheelbarrow"],
      /wheelbarrow is not in the robot type catalog and has no contract\.$/m,
    ],
  ])("warns of a type that no catalog has: it %s", async (_what, words, told) => {
    const { exit_code: exitCode, err } = await site.run(
      "robots",
      "setup",
      "--name",
      "x",
      "--region",
      REGION,
      ...words,
      "--dry-run",
    );
    expect([exitCode, err]).toEqual([0, expect.stringMatching(told)]);
  });

  it("from stdin", async () => {
    const input = `name: piped\nrobot_type_id: ${ROBOT_TYPE}\nregion: ${REGION}\n`;
    const environment = { ROBOT_POLICY_URL: site.urls.whole, ROBOT_POLICY_API_KEY: site.service.key };
    const { exit_code: exitCode, err } = await site.runWith({ input, environment }, "robots", "setup", "--from", "-");
    expect([exitCode, err]).toEqual([
      0,
      expect.stringMatching(/^No configuration files: the digest covers nothing\. --file names them\.\n/),
    ]);
  });

  it.each<[what: string, words: readonly string[], exit_code: number, err: RegExp]>([
    [
      "no such file",
      ["--name", "x", ...ROBOT, "--file", "/nope"],
      3,
      /there is no such file \(\/nope\) \[file_missing\]/,
    ],
    ["no name", ROBOT, 2, /incomplete[^]*give --name\n/],
    ["files and a digest", ["--file", "a", "--configuration-digest", `sha256:${"0".repeat(64)}`], 2, /both given/],
    ["a digest that is none", ["--configuration-digest", "x"], 2, /is not a digest/],
    ["no such manifest", ["--name", "x", "--manifest", "/nope"], 3, /no such manifest \(\/nope\)/],
  ])("%s", async (_what, words, exitCode, err) => {
    expect(await site.run("robots", "setup", ...words)).toMatchObject({
      exit_code: exitCode,
      err: expect.stringMatching(err),
    });
  });
});
