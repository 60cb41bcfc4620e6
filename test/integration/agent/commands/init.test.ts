import { readdirSync } from "node:fs";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

import { describe, expect } from "vitest";
import { parse } from "yaml";

import { startOnTerminal, startWords } from "../../../support/programs/command.ts";
import { AGENT_PROGRAM } from "../../../support/programs/programs-built.ts";
import { asNobody, canBecomeNobody, hasProgram } from "../../../support/programs/programs.ts";
import { type Robot, runAgent, writeAtOnce } from "../../../support/robot/robot.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene, createSceneWithRegions } from "../../../support/service/scene.ts";
import { shownBy, treeOf } from "./shown.ts";

const YAM = "yam.bimanual-joint-position.v1";
const SO101 = "lerobot.so101-follower.v1";
/** A well-formed key that no service knows. */
const UNKNOWN_KEY = "sk_test_0123456789abcdefghijklm";

describe("init", () => {
  test("init: every answer as a flag → files that pass check, and the checks of doctor", async ({ robot, proxy }) => {
    await mkdir(robot.path("etc"));
    const [, right = ""] = robot.paths;
    const more = `--url ${proxy.url} --name arm-{machine_id} --file ${right} --site plant-1`.split(" ");
    const labels = "--label line=4 --label cell=a=b --proxy none".split(" ");
    const init = await robot.run([...allAnswers(robot), ...more, ...labels]);
    expect(init.code).toBe(0);
    expect(init.stdout).toContain(`Wrote ${robot.path("etc/config.yaml")}\nWrote `);
    expect(init.stdout).toMatch(/^ok +tcp /m);
    expect(init.stdout).toMatch(/^Next:\n {2}1\. robot-policy-agent .* check --config /m);
    expect(readdirSync(robot.path("etc")).toSorted()).toEqual(["config.yaml", "robot-manifest.yaml"]);
    expect(parse(await readFile(robot.path("etc/config.yaml"), "utf8"))).toMatchObject({
      service: { proxy: "none", key_file: robot.keyPath },
      robot: { site: "plant-1", labels: { line: "4", cell: "a=b" } },
    });
    const check = await runAgent(["check", "--config", robot.path("etc/config.yaml"), "--json"]);
    expect(JSON.parse(check.stdout)).toMatchObject({
      valid: true,
      findings: [],
      request: { configuration_digest: await robot.digest(), name: expect.stringMatching(/^arm-[0-9a-f]{12}$/) },
    });
  });

  test("init: without answers → placeholders, which check reports, and steps that name all folders", async ({
    scene,
    robot,
  }) => {
    const folders = ["--config", robot.path("etc/config.yaml"), "--state-dir", robot.path("my state")];
    expect(shownBy(await runAgent(["init", ...folders]), scene)).toMatchInlineSnapshot(`
      "Wrote /robot/etc/config.yaml
      Wrote /robot/etc/robot-manifest.yaml
      Next:
        1. replace the 3 <…> in both files
        2. list the configuration files in robot-manifest.yaml, and set status: ready
        3. robot-policy-agent --config /robot/etc/config.yaml --state-dir '/robot/my state' enroll  # or, with an API key: robot-policy-agent --config /robot/etc/config.yaml --state-dir '/robot/my state' set-key
        4. robot-policy-agent --config /robot/etc/config.yaml --state-dir '/robot/my state' check
        5. robot-policy-agent --config /robot/etc/config.yaml --state-dir '/robot/my state' --setup
      --- exit 0
      "
    `);
    const check = await runAgent(["check", "--config", robot.path("etc/config.yaml")]);
    expect(check.code).toBe(3);
    expect(check.stderr.match(/(?<=(error|warning) )\w+: .+/g)).toMatchInlineSnapshot(`
      [
        "placeholder: replace the placeholder <address of the service, https://HOST>",
        "placeholder: replace the placeholder <cloud region nearest to the robot>",
        "placeholder: replace the placeholder <id from: robot-policy-agent catalog>",
        "status_draft: draft: the robot will not be registered",
        "no_config_files: no configuration files: the digest covers nothing",
      ]
    `);
  });

  test("init: into an image → nothing is tested, and the next steps apply to the image", async ({ scene, robot }) => {
    const directory = robot.path("an image/etc/robot-policy-agent");
    const answers = `--url https://policy.example.com --region eu --type ${YAM} --file /opt/left.yaml`.split(" ");
    const init = ["init", "--force", "--dir", directory, ...answers];
    expect(shownBy(await robot.run(init), scene)).toMatchInlineSnapshot(`
      "Wrote /robot/an image/etc/robot-policy-agent/config.yaml
      Wrote /robot/an image/etc/robot-policy-agent/robot-manifest.yaml
      Next:
        1. once the agent is installed there: sudo chroot '/robot/an image' robot-policy-agent set-key
        2. on a robot that runs this image: sudo robot-policy-agent status
      --- exit 0
      "
    `);
    expect(await readFile(join(directory, "config.yaml"), "utf8")).toContain(
      "\n  key_file: /etc/robot-policy-agent/api-key\n",
    );
    await writeAtOnce(join(directory, "api-key"), "sk_test_0123456789\n");
    expect((await robot.run(init)).stdout).not.toContain("set-key");
    await rm(directory, { recursive: true });
    await mkdir(robot.path("here"));
    await symlink(robot.path("here"), directory);
    expect(await robot.run(init)).toMatchObject({ code: 1, stderr: expect.stringContaining("[leads-out]") });
    expect(await readdir(robot.path("here"))).toEqual([]);
  });

  test("init: an existing file → refused; --force → replaced", async ({ scene, robot }) => {
    const before = treeOf(robot.folder);
    expect(shownBy(await robot.run(["init"]), scene)).toMatchInlineSnapshot(`
      "--- stderr
      error: the file exists already (/robot/config.yaml) [exists]
        → to replace it: --force
      --- exit 1
      "
    `);
    expect(treeOf(robot.folder)).toEqual(before);
    expect((await robot.run(["init", "--force"])).code).toBe(0);
    expect(await readFile(robot.config_path, "utf8")).toContain("Written by robot-policy-agent init");
  });

  test.for([
    [["--url", "http://policy.example.com"], "--url: ", "--allow-insecure"],
    [["--url", "https://policy.example.com/v1"], "--url: ", "/v1"],
    [["--type", "not a type"], "--type: ", "all types: robot-policy-agent catalog"],
    [["--type", "ur5e"], "--type: ", "did you mean ur.ur5e-2f85.v1?; all types: robot-policy-agent catalog"],
    [["--type", "koch", "--unit", "deg"], "--type: ", `closest, with --type ${SO101} --extend: `],
    [["--type", "acme.arm.v1", "--extend"], "--extend: the catalog has no type acme.arm.v1", "catalog"],
    [["--type", YAM, "--unit", "deg"], `--unit: ${YAM} is not a LeRobot type`, "leave it out"],
    [["--file", "/a*/b.yaml"], "--file: ", "correct the flag"],
    [["--file", "/opt/a.yaml", "--file", "/opt//a.yaml"], "--file: /opt//a.yaml is already listed [bad-answer]", ""],
    [["--name", "{serial}"], "--name: ", "correct the flag"],
    [["--region", "https://user:pw@x"], "--region: ", "correct the flag"],
    [["--ca-file", "/etc/\u0007ca.pem"], "--ca-file: ", "correct the flag"],
    [["--site", "\u0007"], "--site: ", "correct the flag"],
    [["--label", "line"], "--label: line has no =", "write --label NAME=VALUE"],
    [["--proxy", "ftp://proxy.example"], "--proxy: ", "correct the flag"],
    // Everybody can read the file.
    [["--proxy", "http://u:geheim@proxy.example:3128"], "--proxy: ", "leave it out"],
    [["--enrolment-key", "/boot/\u0007key"], "--enrolment-key: ", "correct the flag"],
  ] as const)("init: %j → refused, and nothing is written", async ([flags, what, fix], { robot }) => {
    const { code, stdout, stderr } = await robot.run(["init", ...flags, "--dir", robot.path("new/etc")]);
    expect([code, stdout, stderr.match(/^error: /gm)?.length]).toEqual([2, "", 1]);
    expect(stderr).toContain(`error: ${what}`);
    expect(stderr).toContain(fix);
    expect(stderr).not.toContain("geheim");
    expect(readdirSync(robot.folder)).not.toContain("new");
  });

  test("init: several wrong flags → all reported at once", async ({ robot }) => {
    const args = ["--url", "policy", "--region", "eu west", "--type", "no type", "--file", "/a*/b.yaml", "--enroll"];
    const { code, stderr } = await robot.run(["init", ...args, "--dir", robot.path("new/etc/robot-policy-agent")]);
    expect([code, readdirSync(robot.folder).includes("new")]).toEqual([2, false]);
    expect(stderr.match(/(?<=error: )--[a-z]+/g)).toEqual(["--url", "--region", "--type", "--file", "--enroll"]);
  });

  test("init: files that are not there, a type that is misspelt → warnings; the files are written", async ({
    robot,
  }) => {
    const files = ["--file", robot.path("typo.yaml"), "--file", "~/calibration.json"];
    const flags = ["--url", "http://10.0.0.5:8080", "--allow-insecure", "--type", "yam.bimanual-joint-positon.v1"];
    const { code, stdout, stderr } = await robot.run([...allAnswers(robot), ...flags, ...files, "--no-test"]);
    expect([code, stderr.match(/^warning: .*/gm)]).toEqual([
      0,
      [expect.stringContaining(`did you mean ${YAM}?`), `warning: the file does not exist: ${robot.path("typo.yaml")}`],
    ]);
    expect(stdout).toContain("  1. replace the 1 <…> in both files\n");
    const text = await readFile(robot.path("etc/config.yaml"), "utf8");
    expect(text).toContain("\n  home: <home folder that ~/ in the manifest stands for>\n");
    expect(text).toContain("\n  allow_insecure: true\n");
  });

  test("init --unit: an older SO-101 → a type of its own, in −100 to 100; check says a unit that the manifest does not", async ({
    robot,
  }) => {
    const init = (unit: string) => {
      const address = ["--url", "https://policy.example.com", "--type", SO101];
      return robot.run([...allAnswers(robot), ...address, "--no-test", "--force", "--unit", unit]);
    };
    const path = robot.path("etc/robot-manifest.yaml");
    const check = () => robot.run(["check", "--config", robot.path("etc/config.yaml")]);
    await init("calibrated_range");
    const own = await readFile(path, "utf8");
    expect(own).toContain(`\nextends: ${SO101}\n`);
    expect(own).toContain("\n  - {name: arm, unit: calibrated_range}\n");
    await init("deg");
    expect(await readFile(path, "utf8")).not.toContain("extends");
    const { stderr } = await check();
    expect(stderr.match(/in degrees: LeRobot 0\.4\.4 and newer/g)).toHaveLength(1);
    expect(stderr).toContain("--unit calibrated_range");
    const camera = "cameras: [{role: front, mount: exterior, width: 640, height: 480, fps: 30}]";
    for (const [unit, notes] of [
      ["", 1],
      [", unit: deg", 0],
      [", unit: calibrated_range", 0],
    ] as const) {
      const lines = ["robot_type_id: acme.lekiwi.v1", "extends: lerobot.lekiwi.v1", `groups: [{name: arm${unit}}]`];
      await writeFile(path, [...lines, camera, `configuration_files: ["${robot.paths[0]}"]\n`].join("\n"));
      const { code, stderr: told } = await check();
      const found = told.match(/Joints of lerobot\.lekiwi\.v1 are in degrees: LeRobot 0\.6\.0/g) ?? [];
      expect([code, found.length]).toEqual([0, notes]);
    }
  });

  test.for<readonly [string, (robot: Robot) => Promise<void>, RegExp]>([
    ["accepts the key", async () => {}, /^ok +service .*accepts the key/m],
    ["does not know the key", (robot) => writeAtOnce(robot.keyPath, `${UNKNOWN_KEY}\n`), /^fail +service +HTTP 401/m],
    ["is not asked for a key", (robot) => rm(robot.keyPath), /^ok +service /m],
  ])("init: the service %s → the check says so; the files are written", async ([, prepare, verdict]) => {
    await using scene = await createScene();
    await prepare(scene.robot);
    const { code, stdout } = await scene.robot.run([...allAnswers(scene.robot), "--url", scene.proxy.url]);
    expect(code).toBe(0);
    expect(stdout).toMatch(verdict);
    expect(readdirSync(scene.robot.path("etc")).toSorted()).toEqual(["config.yaml", "robot-manifest.yaml"]);
  });

  test("init --no-test → no request", async ({ proxy, robot }) => {
    const { code, stderr } = await robot.run([...allAnswers(robot), "--url", proxy.url, "--no-test"]);
    expect([code, stderr, proxy.requests]).toEqual([0, "", []]);
  });

  test.skipIf(!hasProgram("script"))(
    "init on a terminal: answers, a region of the service, a type of one's own → both files",
    { tags: "needs/program" },
    async () => {
      await using scene = await createSceneWithRegions(["eu-west-3", "us-west-2"]);
      const { robot, proxy, service } = scene;
      await using command = startOnTerminal(robot, ["init", "--dir", robot.path("etc")]);
      for (const [shown, typed] of [
        ["Address of the service", "policy"],
        ["not a web address", `\u0015${proxy.url}`],
        ["us-west-2", "us"],
        ["Name of the robot", ""],
        ["Type of the robot", "ur5e"],
        ["Configuration file 1", robot.paths[0]],
        ["Configuration file 2", "/later/arm.yaml"],
        ["There is no file /later/arm.yaml", "y"],
        ["Configuration file 3", ""],
        ["How the robot proves who it is", "\u001B[B\u001B[B"],
      ] as const) {
        await command.wrote(shown);
        command.child.stdin?.write(typed === "y" ? typed : `${typed}\r`);
      }
      expect(await command.ended()).toBe(0);
      expect(command.output()).not.toContain(service.key);
      const config = await readFile(robot.path("etc/config.yaml"), "utf8");
      expect(config).toContain(`\n  url: ${proxy.url}\n`);
      expect(config).toContain("\n  region: us-west-2\n");
      const manifest = await readFile(robot.path("etc/robot-manifest.yaml"), "utf8");
      expect(manifest).toContain("\nextends: ur.ur5e-2f85.v1\n");
      expect(manifest).toContain(`configuration_files:\n  - ${robot.paths[0]}\n  - /later/arm.yaml\n`);
    },
  );

  test.skipIf(!hasProgram("script"))(
    "init on a terminal: an API key is typed in last, and not shown",
    { tags: "needs/program" },
    async ({ robot, service, proxy }) => {
      const given = ["--url", proxy.url, "--type", YAM, "--file", robot.paths[0] ?? "", "--name", "cell"];
      await using command = startOnTerminal(robot, ["init", ...given, "--dir", robot.path("etc")]);
      for (const [shown, typed] of [
        ["nearest to the robot", "eu\r"],
        ["proves who it is", "\u001B[B\r"],
        ["API key: ", `${service.key}\r`],
      ] as const) {
        await command.wrote(shown);
        command.child.stdin?.write(typed);
      }
      expect(await command.ended()).toBe(0);
      expect(stripVTControlCharacters(command.output())).toMatch(/^ok +service .*accepts the key/m);
      expect(command.output()).not.toMatch(/set-key|sk_/);
      expect(await readFile(robot.path("etc/api-key"), "utf8")).toBe(`${service.key}\n`);
    },
  );

  test.skipIf(!canBecomeNobody || !hasProgram("script"))(
    "init: a folder without write permission → not-writable before the first question",
    { tags: "needs/root" },
    async () => {
      const line = `'${process.execPath}' '${AGENT_PROGRAM}' init --dir /etc/robot-policy-agent-of-a-test`;
      await using command = startWords([...asNobody, "script", "-qec", line, "/dev/null"], { TERM: "xterm" });
      expect(await command.ended()).toBe(1);
      expect(command.output()).toContain("cannot write there (EACCES) (/etc/robot-policy-agent-of-a-test)");
      expect(command.output()).not.toContain("Address of the service");
    },
  );
});

function allAnswers(robot: Robot): string[] {
  const [left = ""] = robot.paths;
  return [
    "init",
    "--region",
    "eu",
    "--type",
    YAM,
    "--file",
    left,
    "--key-file",
    robot.keyPath,
    "--dir",
    robot.path("etc"),
  ];
}
