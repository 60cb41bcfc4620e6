import { readdirSync } from "node:fs";
import { mkdir, mkdtempDisposable, readFile, rm, readdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect } from "vitest";
import { parse } from "yaml";

import { startOnTerminal, startWords } from "../../../support/programs/command.ts";
import { AGENT_PROGRAM } from "../../../support/programs/programs-built.ts";
import { asNobody, canBecomeNobody, hasProgram } from "../../../support/programs/programs.ts";
import { type Robot, runAgent, writeAtOnce } from "../../../support/robot/robot.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene, createSceneWithRegions } from "../../../support/service/scene.ts";
import { shownBy, treeOf } from "./shown.ts";

/** A well-formed key that no service knows. */
const UNKNOWN_KEY = "sk_test_0123456789abcdefghijklm";

describe("init", () => {
  test("init: every answer as a flag → files that pass check", async ({ scene, robot, proxy }) => {
    await mkdir(robot.path("etc"));
    const [left = "", right = ""] = robot.paths;
    const answers = ["--url", proxy.url, "--region", "eu-central-1", "--type", "yam.bimanual-joint-position.v1"];
    const files = ["--key-file", robot.keyPath, "--name", "arm-{machine_id}", "--file", left, "--file", right];
    const init = await robot.run(["init", ...answers, ...files, "--dir", robot.path("etc")]);
    expect(shownBy(init, scene)).toMatchInlineSnapshot(`
      "Wrote /robot/etc/config.yaml
      Wrote /robot/etc/robot-manifest.yaml
      Next:
        1. robot-policy-agent --state-dir /robot/state --runtime-dir /robot/run check --config /robot/etc/config.yaml
        2. robot-policy-agent --state-dir /robot/state --runtime-dir /robot/run --setup --config /robot/etc/config.yaml
      --- stderr
      The service answers, and accepts the key.
      --- exit 0
      "
    `);
    expect(readdirSync(robot.path("etc")).toSorted()).toEqual(["config.yaml", "robot-manifest.yaml"]);
    const check = await runAgent(["check", "--config", robot.path("etc/config.yaml"), "--json"]);
    expect(JSON.parse(check.stdout)).toMatchObject({
      valid: true,
      findings: [],
      request: { configuration_digest: await robot.digest(), name: expect.stringMatching(/^arm-[0-9a-f]{12}$/) },
    });
  });

  test("init: other folders → the next steps name all of them", async ({ robot }) => {
    const folders = ["--config", robot.path("etc/cell.yaml"), "--state-dir", robot.path("my state")];
    const { stdout } = await runAgent(["init", ...folders, "--no-test"]);
    expect(stdout.slice(stdout.indexOf("  3.")).replaceAll(robot.folder, "/robot")).toMatchInlineSnapshot(`
      "  3. robot-policy-agent --config /robot/etc/cell.yaml --state-dir '/robot/my state' enroll  # or, with an API key: robot-policy-agent --config /robot/etc/cell.yaml --state-dir '/robot/my state' set-key
        4. robot-policy-agent --config /robot/etc/cell.yaml --state-dir '/robot/my state' check
        5. robot-policy-agent --config /robot/etc/cell.yaml --state-dir '/robot/my state' --setup
      "
    `);
  });

  test("init: on a robot → the next steps end with a running agent", async ({ scene }) => {
    const answers = ["--url", scene.proxy.url, "--region", "eu", "--type", "yam.bimanual-joint-position.v1"];
    const args = ["init", ...answers, "--file", "/opt/yam_left.yaml", "--no-test"];
    const { stdout } = await runAgent(args, { CONFIGURATION_DIRECTORY: scene.robot.path("etc") });
    expect(stdout.slice(stdout.indexOf("Next:"))).toMatchInlineSnapshot(`
      "Next:
        1. sudo robot-policy-agent check
        2. sudo robot-policy-agent enroll  # also registers the robot and starts the agent; with an API key instead: sudo robot-policy-agent set-key, then --setup, and systemctl start robot-policy-agent
      "
    `);
  });

  test("init: into an image whose folder is a link out of it → refused, nothing is written", async ({ robot }) => {
    await mkdir(robot.path("hostile/etc"), { recursive: true });
    await mkdir(robot.path("here"));
    await symlink(robot.path("here"), robot.path("hostile/etc/robot-policy-agent"));
    const { code, stderr } = await robot.run(["init", "--dir", robot.path("hostile/etc/robot-policy-agent")]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("[leads-out]")]);
    expect(await readdir(robot.path("here"))).toEqual([]);
  });

  test("init: into an image → the next steps apply to the image, not to this computer", async ({ scene, robot }) => {
    const directory = robot.path("an image/etc/robot-policy-agent");
    const answers = "--url https://policy.example.com --region eu --type yam.bimanual-joint-position.v1".split(" ");
    const next = async (...more: string[]) => {
      const args = ["init", "--force", "--dir", directory, ...answers, "--file", "/opt/yam_left.yaml", ...more];
      const shown = shownBy(await robot.run(args), scene);
      return shown.slice(shown.indexOf("Next:"));
    };
    expect(await next()).toMatchInlineSnapshot(`
      "Next:
        1. sudo robot-policy-agent install --root '/robot/an image' --key-file FILE
        2. on a robot that runs this image: sudo robot-policy-agent status
      --- exit 0
      "
    `);
    expect(await readFile(join(directory, "config.yaml"), "utf8")).toContain(
      "\n  key_file: /etc/robot-policy-agent/api-key\n",
    );
    expect(await next("--key-file", "/boot/key")).toContain(
      "1. sudo chroot '/robot/an image' robot-policy-agent set-key",
    );
    await mkdir(robot.path("an image/usr/bin"), { recursive: true });
    await writeAtOnce(robot.path("an image/usr/bin/robot-policy-agent"), "of the package");
    expect(await next()).toContain("1. sudo chroot '/robot/an image' robot-policy-agent set-key");
    await writeAtOnce(join(directory, "api-key"), "sk_test_0123456789\n");
    expect(await next()).toMatchInlineSnapshot(`
      "Next:
        1. on a robot that runs this image: sudo robot-policy-agent status
      --- exit 0
      "
    `);
  });

  test("init: without answers → placeholders, which check reports", async ({ scene, robot }) => {
    const directory = robot.path("new/etc");
    expect(shownBy(await robot.run(["init", "--dir", directory]), scene)).toMatchInlineSnapshot(`
      "Wrote /robot/new/etc/config.yaml
      Wrote /robot/new/etc/robot-manifest.yaml
      Next:
        1. replace the 3 <…> in them
        2. list the configuration files in robot-manifest.yaml, and set status: ready
        3. robot-policy-agent --state-dir /robot/state --runtime-dir /robot/run enroll --config /robot/new/etc/config.yaml  # or, with an API key: robot-policy-agent --state-dir /robot/state --runtime-dir /robot/run set-key --config /robot/new/etc/config.yaml
        4. robot-policy-agent --state-dir /robot/state --runtime-dir /robot/run check --config /robot/new/etc/config.yaml
        5. robot-policy-agent --state-dir /robot/state --runtime-dir /robot/run --setup --config /robot/new/etc/config.yaml
      --- exit 0
      "
    `);
    const check = await runAgent(["check", "--config", join(directory, "config.yaml")]);
    expect(check.code).toBe(3);
    expect(check.stderr.replaceAll(robot.folder, "/robot")).toMatchInlineSnapshot(`
      "/robot/new/etc/config.yaml:7:8: error placeholder: replace the placeholder <address of the service, https://HOST>
            url: "<address of the service, https://HOST>"
                 ^
      /robot/new/etc/config.yaml:46:11: error placeholder: replace the placeholder <cloud region nearest to the robot>
            region: "<cloud region nearest to the robot>"
                    ^
      /robot/new/etc/robot-manifest.yaml:5:16: warning placeholder: replace the placeholder <id from: robot-policy-agent catalog>
          robot_type_id: "<id from: robot-policy-agent catalog>"
                         ^
      /robot/new/etc/robot-manifest.yaml:12:9: warning status_draft: draft: the robot will not be registered
          status: draft
                  ^
      /robot/new/etc/robot-manifest.yaml:16:22: warning no_config_files: no configuration files: the digest covers nothing
          configuration_files: []
                               ^
      "
    `);
  });

  test("init: a misspelt type id → a suggestion; the files are still written", async ({ robot }) => {
    const slip = ["init", "--type", "yam.bimanual-joint-positon.v1", "--dir", robot.path("etc")];
    const { code, stderr } = await robot.run(slip);
    expect([code, stderr]).toEqual([0, expect.stringContaining("did you mean yam.bimanual-joint-position.v1?")]);
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

  test.each([
    ["--url", "http://policy.example.com", "insecure"],
    ["--url", "https://policy.example.com/v1", "/v1"],
    ["--type", "not a type", "type id"],
    ["--file", "/a/*.yaml", "config"],
    ["--name", "{serial}", "placeholder"],
    ["--region", "\u0007", "region"],
    ["--region", "https://user:pw@x", "region"],
    ["--ca-file", "/etc/\u0007ca.pem", "ca"],
    ["--site", "\u0007", "site"],
    ["--proxy", "ftp://proxy.example", "proxy"],
    ["--enrolment-key", "/boot/\u0007key", "enrolment key"],
  ])("init: %s %j → refused, and nothing is written", async (flag, value) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "init-"));
    const result = await runAgent(["init", flag, value, "--dir", join(folder.path, "etc")]);
    expect([result.code, result.stdout]).toEqual([2, ""]);
    expect(result.stderr).toMatch(/error: --.+ \[bad-answer\]\n {2}→ correct the flag/);
    expect(result.stderr).toContain(`error: ${flag}: `);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("init: plain http to another machine → only with --allow-insecure", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "init-"));
    const args = ["init", "--url", "http://10.0.0.5:8080", "--no-test", "--dir", folder.path];
    const refused = await runAgent(args);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--allow-insecure")]);
    expect((await runAgent([...args, "--allow-insecure"])).code).toBe(0);
    expect(await readFile(join(folder.path, "config.yaml"), "utf8")).toContain("\n  allow_insecure: true\n");
  });

  test("init: a type without its maker or version → refused, and where the types are listed", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "init-"));
    const { code, stderr } = await runAgent(["init", "--type", "ur5e", "--dir", folder.path]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      "nothing was written; did you mean ur.ur5e-2f85.v1?; all types: robot-policy-agent catalog",
    );
  });

  test("init: a robot that the catalog lacks → the closest type, and no word on its unit", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "init-"));
    const { code, stderr } = await runAgent(["init", "--type", "koch", "--unit", "deg", "--dir", folder.path]);
    expect(code).toBe(2);
    expect(stderr).toContain("nothing was written; closest, with --type lerobot.so101-follower.v1 --extend: ");
    expect(stderr).not.toContain("is not a LeRobot type");
  });

  test("init --extend: a type that is not in the catalog → refused", async ({ robot }) => {
    const { code, stderr } = await robot.run(["init", "--type", "acme.arm.v1", "--extend", "--dir", robot.path("etc")]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--extend: the catalog has no type acme.arm.v1")]);
  });

  test("init: site, labels, proxy and key for enrolments → in the configuration", async ({ robot }) => {
    const more = "--site plant-1 --label line=4 --label cell=a=b --proxy none --enrolment-key /boot/key".split(" ");
    const { code } = await robot.run([
      ...allAnswers(robot),
      "--url",
      "https://policy.example.com",
      "--no-test",
      ...more,
    ]);
    expect(code).toBe(0);
    expect(parse(await readFile(robot.path("etc/config.yaml"), "utf8"))).toMatchObject({
      service: { proxy: "none", enrolment_key_file: "/boot/key", identity: "enrolled" },
      robot: { site: "plant-1", labels: { line: "4", cell: "a=b" } },
    });
  });

  test("init: a label without value → refused", async ({ robot }) => {
    const { code, stderr } = await robot.run([...allAnswers(robot), "--label", "line"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--label: line has no =")]);
  });

  test("init: a password of the proxy → refused, because everybody can read the file", async ({ robot }) => {
    const { code, stderr } = await robot.run([...allAnswers(robot), "--proxy", "http://u:geheim@proxy.example:3128"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--proxy: ")]);
    expect(stderr).not.toContain("geheim");
  });

  test("init: a file that does not exist → a warning; the files are still written", async ({ robot }) => {
    const missing = robot.path("typo.yaml");
    const answers = [...allAnswers(robot), "--url", "https://policy.example.com", "--no-test", "--file", missing];
    const { code, stderr } = await robot.run(answers);
    expect([code, stderr]).toEqual([0, `warning: the file does not exist: ${missing}\n`]);
  });

  test("init --unit: an older SO-101 → a type of its own, in −100 to 100; check says a unit that the manifest does not", async ({
    robot,
  }) => {
    const answers = ["init", "--force", "--type", "lerobot.so101-follower.v1", "--dir", robot.path("etc"), "--no-test"];
    const more = [
      "--url",
      "https://policy.example.com",
      "--region",
      "eu",
      "--file",
      robot.paths[0] ?? "",
      "--key-file",
      robot.keyPath,
    ];
    await robot.run([...answers, ...more, "--unit", "calibrated_range"]);
    const own = await readFile(robot.path("etc/robot-manifest.yaml"), "utf8");
    expect(own).toContain("\nextends: lerobot.so101-follower.v1\n");
    expect(own).toContain("\n  - {name: arm, unit: calibrated_range}\n");
    await robot.run([...answers, ...more, "--unit", "deg"]);
    expect(await readFile(robot.path("etc/robot-manifest.yaml"), "utf8")).not.toContain("extends");
    const check = await robot.run(["check", "--config", robot.path("etc/config.yaml")]);
    expect(check.stderr.match(/in degrees: LeRobot 0\.4\.4 and newer/g)).toHaveLength(1);
    expect(check.stderr).toContain("--unit calibrated_range");
    const camera = "cameras: [{role: front, mount: exterior, width: 640, height: 480, fps: 30}]";
    for (const [unit, notes] of [
      ["", 1],
      [", unit: deg", 0],
      [", unit: calibrated_range", 0],
    ] as const) {
      const groups = `groups: [{name: arm${unit}}]`;
      const lines = ["robot_type_id: acme.lekiwi.v1", "extends: lerobot.lekiwi.v1", groups, camera];
      await writeFile(
        robot.path("etc/robot-manifest.yaml"),
        [...lines, `configuration_files: ["${robot.paths[0]}"]\n`].join("\n"),
      );
      const { code, stderr } = await robot.run(["check", "--config", robot.path("etc/config.yaml")]);
      expect([
        code,
        stderr.match(/Joints of lerobot\.lekiwi\.v1 are in degrees: LeRobot 0\.6\.0/g)?.length ?? 0,
      ]).toEqual([0, notes]);
    }
  });

  test("init --unit: a type that is not LeRobot's → refused", async ({ robot }) => {
    const { code, stderr } = await robot.run([...allAnswers(robot), "--unit", "deg"]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("--unit: yam.bimanual-joint-position.v1 is not a LeRobot type"),
    ]);
  });

  test("init: a file given twice → refused, without a line of a file that is not there", async ({ robot }) => {
    const files = ["--file", "/opt/a.yaml", "--file", "/opt//a.yaml"];
    const { code, stderr } = await robot.run(["init", ...files, "--dir", robot.path("etc")]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--file: /opt//a.yaml is already listed [bad-answer]")]);
  });

  test("init: a file below ~/ → a placeholder for that home", async ({ robot }) => {
    const answers = [...allAnswers(robot), "--url", "https://policy.example.com", "--file", "~/calibration.json"];
    const { stdout } = await robot.run([...answers, "--no-test"]);
    expect(stdout).toContain("  1. replace the 1 <…> in them\n");
    expect(await readFile(robot.path("etc/config.yaml"), "utf8")).toContain(
      '\n  home: "<home folder that ~/ in the manifest stands for>"\n',
    );
  });

  test("init: several wrong flags → all reported at once", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "init-"));
    const args = ["--url", "policy", "--region", "eu west", "--type", "no type", "--file", "/a/*.yaml"];
    const dir = join(folder.path, "etc/robot-policy-agent");
    const { code, stderr } = await runAgent(["init", ...args, "--enroll", "--dir", dir]);
    expect([code, readdirSync(folder.path)]).toEqual([2, []]);
    expect(stderr.match(/(?<=error: )--[a-z]+/g)).toEqual(["--url", "--region", "--type", "--file", "--enroll"]);
  });

  test.each([
    ["accepts the key", async () => {}, /^The service answers, and accepts the key\.$/m],
    ["does not know the key", putUnknownKey, /^warning: HTTP 401: .*\n {2}→ ask the operator of the service/m],
    ["answers, but there is no key", async (robot: Robot) => rm(robot.keyPath), /^The service answers\.$/m],
  ])("init: the service %s → says so; the files are still written", async (_name, prepare, message) => {
    await using scene = await createScene();
    await prepare(scene.robot);
    const { code, stderr } = await scene.robot.run([...allAnswers(scene.robot), "--url", scene.proxy.url]);
    expect(code).toBe(0);
    expect(stderr).toMatch(message);
    expect(readdirSync(scene.robot.path("etc")).toSorted()).toEqual(["config.yaml", "robot-manifest.yaml"]);
  });

  test("init: a region without an endpoint → a warning with the regions that have one", async () => {
    await using scene = await createSceneWithRegions(["eu-west-3", "us-west-2"]);
    const { code, stderr } = await scene.robot.run([...allAnswers(scene.robot), "--url", scene.proxy.url]);
    expect([code, stderr]).toEqual([
      0,
      `The service answers, and accepts the key.
warning: the service has no endpoint in the region eu
  → write one of these as robot.region: eu-west-3, us-west-2
`,
    ]);
  });

  test.skipIf(!hasProgram("script")).each([
    ["before there is a key", false],
    ["with a key", true],
  ])("init on a terminal offers the service's regions: %s", { tags: "needs/program" }, async (_name, isKeyInPlace) => {
    await using scene = await createSceneWithRegions(["eu-west-3", "us-west-2"]);
    const { robot, service } = scene;
    const [file = ""] = robot.paths;
    const given = ["--type", "yam.bimanual-joint-position.v1", "--file", file, "--dir", robot.path("etc")];
    const key = isKeyInPlace ? ["--key-file", robot.keyPath] : [];
    await using command = startOnTerminal(robot, ["init", ...given, ...key]);
    await command.wrote("Address of the service");
    const type = (...lines: string[]) => command.child.stdin?.write(lines.map((each) => `${each}\n`).join(""));
    type(scene.proxy.url);
    await command.wrote("  2  us-west-2");
    type("2", "", "");
    if (!isKeyInPlace) {
      await command.wrote("API key (not shown");
      type(service.key);
    }
    expect(await command.ended()).toBe(0);
    expect(await readFile(robot.path("etc/config.yaml"), "utf8")).toContain("\n  region: us-west-2\n");
  });

  test.skipIf(!hasProgram("script"))(
    "init on a terminal, --region without an endpoint, no key → offers the service's regions",
    { tags: "needs/program" },
    async () => {
      await using scene = await createSceneWithRegions(["eu-west-3", "us-west-2"]);
      const { robot, proxy } = scene;
      const given = ["--type", "yam.bimanual-joint-position.v1", "--url", proxy.url, "--region", "us-west-1"];
      await using command = startOnTerminal(robot, ["init", ...given, "--dir", robot.path("etc")]);
      await command.wrote("Name of the robot");
      command.child.stdin?.write("\n");
      await command.wrote("onfiguration file");
      command.child.stdin?.write(`${robot.paths[0]}\n\n\n`);
      await command.wrote("API key (not shown");
      command.child.stdin?.write("\n");
      await command.wrote("Another region");
      command.child.stdin?.write("2\n");
      await command.wrote("Enroll now");
      command.child.stdin?.write("\n");
      expect(await command.ended()).toBe(0);
      expect(await readFile(robot.path("etc/config.yaml"), "utf8")).toContain("\n  region: us-west-2\n");
    },
  );

  test("init --no-test → no request", async ({ proxy, robot }) => {
    const { code, stderr } = await robot.run([...allAnswers(robot), "--url", proxy.url, "--no-test"]);
    expect([code, stderr, proxy.requests]).toEqual([0, "", []]);
  });

  test.skipIf(!canBecomeNobody)(
    "init: a folder without write permission → not-writable",
    { tags: "needs/root" },
    async ({ scene, robot }) => {
      const result = await robot.runProcess(["init", "--dir", "/etc/robot-policy-agent-of-a-test"], {}, asNobody);
      expect(shownBy(result, scene)).toMatchInlineSnapshot(`
      "--- stderr
      error: cannot write there (EACCES) (/etc/robot-policy-agent-of-a-test) [not-writable]
        → run it as root, or write elsewhere: --dir DIR
      --- exit 1
      "
    `);
    },
  );

  test.skipIf(!canBecomeNobody || !hasProgram("script"))(
    "init on a terminal: a folder without write permission → not-writable before the first question",
    { tags: "needs/root" },
    async () => {
      const line = `'${process.execPath}' '${AGENT_PROGRAM}' init --dir /etc/robot-policy-agent-of-a-test`;
      await using command = startWords([...asNobody, "script", "-qec", line, "/dev/null"], { TERM: "xterm" });
      expect(await command.ended()).toBe(1);
      expect(command.output()).toContain("cannot write there (EACCES) (/etc/robot-policy-agent-of-a-test)");
      expect(command.output()).not.toContain("Address of the service");
    },
  );

  test.skipIf(!hasProgram("script"))(
    "init on a terminal: pasted lines → answers",
    { tags: "needs/program" },
    async () => {
      await using scene = await createScene();
      const { robot } = scene;
      await using command = startOnTerminal(robot, ["init", "--dir", robot.path("etc")]);
      await command.wrote("Address of the service");
      const answers = ["policy.example.com", scene.proxy.url, "eu-west", "", "nonsense", "ur5e"];
      const files = ["/a/*.yaml", robot.paths[0], "/later/arm.yaml", "", "", ""];
      command.child.stdin?.write([...answers, ...files, ""].join("\n"));
      await command.wrote("API key (not shown");
      command.child.stdin?.write(`${UNKNOWN_KEY}\n`);
      await command.wrote("HTTP 401");
      // The terminal would echo a key typed before the prompt reappears.
      await expect.poll(() => command.output().split("API key (not shown")).toHaveLength(3);
      command.child.stdin?.write(`${scene.service.key}\n`);
      expect(await command.ended()).toBe(0);
      const output = command.output();
      expect(output).toContain("The file does not exist: /later/arm.yaml");
      expect(output).not.toContain(`The file does not exist: ${robot.paths[0]}`);
      expect(output).toContain("service address is not a web address; write it as https://HOST");
      expect(output).toContain("The service answers, and accepts the key.");
      expect(output).not.toMatch(/set-key --config|sk_/);
      expect(await readFile(robot.path("etc/api-key"), "utf8")).toBe(`${scene.service.key}\n`);
      const config = await readFile(robot.path("etc/config.yaml"), "utf8");
      expect(config).toContain(`\n  url: ${scene.proxy.url}\n`);
      expect(config).toContain("\n  region: eu-west\n");
      const manifest = await readFile(robot.path("etc/robot-manifest.yaml"), "utf8");
      expect(manifest).toContain("\nextends: ur.ur5e-2f85.v1\n");
      expect(manifest).toContain("\nstatus: ready\n");
      expect(manifest).toContain(`configuration_files:\n  - ${robot.paths[0]}\n  - /later/arm.yaml\n`);
    },
  );
});

function allAnswers(robot: Robot): string[] {
  const [left = ""] = robot.paths;
  const type = ["--type", "yam.bimanual-joint-position.v1", "--file", left];
  return ["init", "--region", "eu", ...type, "--key-file", robot.keyPath, "--dir", robot.path("etc")];
}

function putUnknownKey(robot: Robot): Promise<void> {
  return writeAtOnce(robot.keyPath, `${UNKNOWN_KEY}\n`);
}
