import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { REGION, ROBOT_TYPE } from "../../conformance/api/catalog.ts";
import { endedWith, openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";
import { customManifest } from "../../support/robot/custom-manifest.ts";
import { NO_DIGEST } from "../../support/service/robot-computer.ts";

let site: OperatorSite;
beforeAll(async () => void (site = await openOperatorSite()));
afterAll(() => site[Symbol.asyncDispose]());

const DIGEST = `sha256:${"0".repeat(64)}`;
const OTHER_DIGEST = `sha256:${"7".repeat(64)}`;
const digestBySha256sum = (...paths: string[]) =>
  `sha256:${execFileSync("sh", ["-c", 'sha256sum "$@" | cut -c1-64 | sha256sum | cut -c1-64', "sh", ...paths], { encoding: "utf8" }).trim()}`;

async function write(name: string, text: string): Promise<string> {
  const path = join(site.home, name);
  await writeFile(path, text);
  return path;
}

const ROBOT = ["--type", ROBOT_TYPE, "--region", REGION] as const;

describe("robots setup", () => {
  it("--file → the digest that the agent computes, from contents and order", async () => {
    const paths = [await write("a.json", '{"a":1}'), await write("b.json", '{"b":2}')] as const;
    expect(
      await site.run("robots", "setup", "--name", "new", ...ROBOT, "--file", paths[1], "--file", paths[0]),
    ).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(
        `^new is registered \\(rob_\\w+\\) with ${digestBySha256sum(paths[1], paths[0])}\\.\n$`,
      ),
    });
  });

  it("--manifest of a custom robot → its type, files and contract; robots show --contract shows the contract", async () => {
    const file = await write("bench.yaml", "x: 1\n");
    const manifest = await write("robot-manifest.yaml", customManifest([file]));
    const setUp = await site.run("robots", "setup", "--name", "bench", "--region", REGION, "--manifest", manifest);
    expect(setUp).toMatchObject({ exitCode: 0, out: expect.stringContaining(digestBySha256sum(file)) });
    expect((await site.run("robots", "show", "bench")).out).toContain("--contract shows it");
    const { out } = await site.run("robots", "show", "bench", "--contract");
    expect(out).not.toContain("--contract shows it");
    expect(out).toMatch(/^front +exterior +640 × 480 px +30 fps/m);
    expect(out).toMatch(/^0 +arm\.shoulder\.position +rad +-1\.57\d* … 1\.57/m);
  });

  it("--dry-run → the request, without the key; registers nothing", async () => {
    const file = await write("cal.yaml", "offset: 3\n");
    const args = ["--name", "dry", ...ROBOT, "--site", "yard", "--label", "cell=5", "--file", file];
    const { out } = await site.run("robots", "setup", ...args, "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({
      dry_run: true,
      method: "POST",
      url: `${site.urls.whole}/v1/robots/setup`,
      body: {
        name: "dry",
        robot_type_id: ROBOT_TYPE,
        region: REGION,
        site: "yard",
        labels: { cell: "5" },
        configuration_digest: digestBySha256sum(file),
      },
    });
    expect(out).not.toContain(site.service.key);
    expect((await site.run("robots", "show", "dry")).exitCode).toBe(6);
  });

  it("values that the service refuses → a finding at the flag", async () => {
    const { exitCode, err } = await site.run(
      "robots",
      "setup",
      "--name=x",
      "--region",
      REGION,
      `--type=${"t".repeat(257)}`,
    );
    expect([exitCode, err]).toEqual([6, expect.stringContaining('--type "ttt')]);
  });

  describe("the robot is already registered", () => {
    const registered = { site: "lab", labels: { cell: "4" }, contract: { cameras: 2 } };
    const setUp = (...args: string[]) => ["robots", "setup", "--name", "held", "--type", ROBOT_TYPE, ...args];
    const bodyOf = async (...args: string[]) => (await site.json(...setUp(...args), "--dry-run")).body;
    const registration = async () => (await site.service.send("GET", "/v1/robots/held/registration")).json();
    beforeEach(() => site.register("held", registered));

    it("keeps site, labels and contract, and says what changes", async () => {
      expect(await site.run(...setUp("--region", "moon", "--configuration-digest", OTHER_DIGEST))).toMatchObject({
        exitCode: 0,
        err:
          "warning: no endpoint is in the region moon.\n" +
          "held is registered already, and keeps what is not given. This changes it:\n" +
          `  region    ${REGION} → moon\n` +
          "  digest    sha256:000000000000 → sha256:777777777777\n",
      });
      expect(await registration()).toMatchObject({ ...registered, region: "moon", configuration_digest: OTHER_DIGEST });
    });

    it("--clear-site, --clear-labels, --label → replaced as told; another type → without the contract", async () => {
      const rest = { name: "held", robot_type_id: ROBOT_TYPE, region: REGION, configuration_digest: DIGEST };
      const same = ["--region", REGION, "--configuration-digest", DIGEST];
      expect(await bodyOf(...same)).toEqual({ ...rest, ...registered });
      expect(await bodyOf(...same, "--clear-site")).toEqual({
        ...rest,
        labels: registered.labels,
        contract: registered.contract,
      });
      expect(await bodyOf(...same, "--label", "a=b")).toEqual({ ...rest, ...registered, labels: { a: "b" } });
      expect(await bodyOf(...same, "--clear-labels")).toEqual({ ...rest, site: "lab", contract: registered.contract });
      expect(await bodyOf(...same, "--type", "wheelbarrow")).toEqual({
        ...rest,
        robot_type_id: "wheelbarrow",
        site: "lab",
        labels: registered.labels,
      });
    });

    it("only what changes is given → keeps type, region and digest; says so", async () => {
      expect(await site.run("robots", "setup", "--name", "held", "--site", "yard")).toMatchObject({
        exitCode: 0,
        out: expect.stringContaining(`with ${DIGEST}.`),
        err: expect.stringMatching(/^held is registered[^]*site +lab → yard\n$/),
      });
      const kept = { robot_type_id: ROBOT_TYPE, region: REGION, configuration_digest: DIGEST };
      expect(await registration()).toMatchObject({ ...registered, ...kept, site: "yard" });
      const manifest = await write("hosted.yaml", "robot_type_id: lerobot.so101-follower.v1\n");
      expect((await bodyOf("--manifest", manifest)).configuration_digest).toBe(DIGEST);
    });

    it("documented service, no digest → refused: it would be replaced by that of nothing", async () => {
      expect(await site.eleven("robots", "setup", "--name", "held", "--site", "yard")).toMatchObject(
        endedWith(2, /digest of held, which would be lost \[digest-unknown\]\n {2}→ give the files with --file/),
      );
      expect(await registration()).toMatchObject({ ...registered, configuration_digest: DIGEST });
    });

    it("nothing changes → no question", async () => {
      const args = setUp("--region", REGION, "--configuration-digest", DIGEST);
      expect(await site.runWith({ answers: [] }, ...args)).toMatchObject({ exitCode: 0, err: "" });
    });

    it("on a terminal → asks; changes nothing without a yes", async () => {
      const args = setUp("--region", "moon", "--configuration-digest", DIGEST);
      const declined = await site.runWith({ answers: ["n"] }, ...args);
      expect(declined).toMatchObject(endedWith(1, "[not-confirmed]"));
      expect(await registration()).toMatchObject({ region: REGION });
      expect((await site.runWith({ answers: ["y"] }, ...args)).exitCode).toBe(0);
      expect(await registration()).toMatchObject({ region: "moon" });
      const confirmed = await site.runWith({ answers: [] }, ...args, "--clear-site", "--yes");
      expect(confirmed.exitCode).toBe(0);
    });

    it("documented service → keeps site and labels", async () => {
      const args = setUp("--region", REGION, "--configuration-digest", OTHER_DIGEST);
      expect(await site.eleven(...args)).toMatchObject({
        exitCode: 0,
        err:
          "held is registered already, and keeps what is not given. This changes it:\n" +
          "  digest    not shown → sha256:777777777777\n" +
          "  contract  not shown → none\n",
      });
    });

    it.each([
      ["--site", "x", "--clear-site"],
      ["--label", "a=b", "--clear-labels"],
    ])("%s %s with %s → exit 2", async (...args) => {
      expect(await site.run(...setUp(...args))).toMatchObject(endedWith(2, "exclude each other"));
    });
  });

  it.each([
    ["--region", "https://user:pw@x"],
    ["--site", "see http://user:pw@wiki/4"],
    ["--label", "wiki=https://user:pw@x"],
  ])("%s with a password in a URL → refused, and not repeated", async (flag, value) => {
    const args = ["--name", "x", "--type", ROBOT_TYPE, "--region", REGION, flag, value];
    const ran = await site.run("robots", "setup", ...args);
    expect(ran).toMatchObject({ exitCode: 2, out: "", err: expect.stringContaining(`error: ${flag}: `) });
    expect(ran.err).not.toContain("pw");
  });

  it("an invalid region → exit 2, at its flag", async () => {
    const args = ["--name", "x", "--type", ROBOT_TYPE, "--region", "my region"];
    expect(await site.run("robots", "setup", ...args)).toMatchObject(
      endedWith(2, "--region: expected the code of a region"),
    );
  });

  it.each<[what: string, args: readonly string[], warning: RegExp]>([
    [
      "similar to one of the catalog → suggests it",
      ["--type", "lerobot.so101-folower.v1"],
      /contract \(did you mean lerobot\.so101-follower\.v1\?\)\.$/m,
    ],
    [
      "similar to none → says that it has no contract",
      ["--type", "wheelbarrow"],
      /wheelbarrow is not in the robot type catalog and has no contract\.$/m,
    ],
  ])("unknown type, %s", async (_what, args, warning) => {
    expect(await site.run("robots", "setup", "--name", "x", "--region", REGION, ...args, "--dry-run")).toMatchObject(
      endedWith(0, warning),
    );
  });

  it("neither files nor digest → the digest of nothing, as told", async () => {
    expect(await site.run("robots", "setup", "--name", "bare", ...ROBOT)).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining(NO_DIGEST),
      err: expect.stringMatching(/^No configuration files: the digest covers nothing\. --file names them\.\n/),
    });
  });

  it.each<[what: string, args: readonly string[], exitCode: number, err: RegExp]>([
    [
      "no such file",
      ["--name", "x", ...ROBOT, "--file", "/nope"],
      3,
      /there is no such file \(\/nope\) \[file_missing\]/,
    ],
    ["no name", ROBOT, 2, /--name/],
    ["a new robot without type and region", ["--name", "x"], 2, /give --region, and --type or --manifest\n/],
    ["files and a digest", ["--name", "x", "--file", "a", "--configuration-digest", DIGEST], 2, /exclude each other/],
    ["an invalid digest", ["--name", "x", "--configuration-digest", "x"], 2, /is not a digest/],
    [
      "no such manifest",
      ["--name", "x", "--manifest", "/nope"],
      3,
      /there is no such file \(\/nope\) \[file_missing\]/,
    ],
  ])("%s → exit code and error", async (_what, args, exitCode, err) => {
    expect(await site.run("robots", "setup", ...args)).toMatchObject(endedWith(exitCode, err));
  });

  it("--manifest - → the findings name stdin", async () => {
    const args = ["robots", "setup", "--name", "x", "--manifest", "-"];
    const ran = await site.runWith({ input: "robot_type_id: 7\n" }, ...args);
    expect(ran).toMatchObject(endedWith(3, "<stdin>:1:16: error wrong_type"));
  });

  it("--json → the document contains the findings of a manifest", async () => {
    const path = await write("wrong-manifest.yaml", "robot_type_id: 7\n");
    const { exitCode, out } = await site.run("robots", "setup", "--name", "x", "--manifest", path, "--json");
    const found = expect.objectContaining({ file: path, id: "wrong_type", line: 1, column: 16 });
    expect([exitCode, JSON.parse(out).findings]).toEqual([3, expect.arrayContaining([found])]);
  });
});
