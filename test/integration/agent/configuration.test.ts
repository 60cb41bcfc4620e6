/** Configuration and manifest: mistakes without and with a running daemon, and valid edits. */
import { chmod, readFile, rename, rm } from "node:fs/promises";

import { describe, expect } from "vitest";

import type { Daemon } from "../../support/robot/daemon.ts";
import { eventually, replaceIn, type Robot, setupBodies, writeAtOnce } from "../../support/robot/robot.ts";
import { startFaultProxy } from "../../support/service/fault-proxy.ts";
import { test } from "../../support/service/scene-test.ts";
import { createScene, expectOneRobot } from "../../support/service/scene.ts";

/** One mistake per line; `CONFIGURATION_FINDINGS` has line, column and id of each. */
const BAD_CONFIGURATION = `service:
  url: http://policy.example
  key_fil: /etc/key
  connect_timeout_s: soon
robot:
  name: arm-{rack}
  region: 7
  labels: {line: a, line: b}
watch: {settle_ms: -1}
colour: red
`;
const CONFIGURATION_FINDINGS = [
  [2, 8, "insecure_url"],
  [3, 3, "unknown_key"],
  [4, 22, "wrong_type"],
  [6, 9, "name_template"],
  [7, 11, "wrong_type"],
  [8, 21, "yaml_duplicate_key"],
  [9, 20, "out_of_range"],
  [10, 1, "unknown_key"],
];

const BAD_MANIFEST = `robot_type_id: yam.bimanual-joint-position.v1
configuration_file: []
configuration_files:
  - relative/path.yaml
  - /opt/a.yaml
  - /opt/a.yaml
  - 7
`;

describe.concurrent("scenario 29: mistakes → all at once at file:line:column, exit 3:", () => {
  test("in the configuration", async ({ proxy, robot }) => {
    await writeAtOnce(robot.config_path, BAD_CONFIGURATION);
    const check = await robot.run(["check", "--json"]);
    expect(check.code).toBe(3);
    // The YAML stage fails first; the later findings appear once the duplicate key is gone.
    expect(placesOf(check.stdout)).toEqual(CONFIGURATION_FINDINGS.filter(([, , id]) => id === "yaml_duplicate_key"));
    await replaceIn(robot.config_path, "line: a, line: b", "line: a, xine: b");

    const expected = CONFIGURATION_FINDINGS.filter(([, , id]) => id !== "yaml_duplicate_key");
    expect(placesOf((await robot.run(["check", "--json"])).stdout)).toEqual(expected);
    for (const args of [["check"], ["run"], ["--setup"], ["digest"], ["status"]]) {
      const { code, stderr } = await robot.run(args);
      expect([args, code]).toEqual([args, 3]);
      const heads = stderr.split("\n").map((line) => /^\S+:\d+:\d+: error \w+/.exec(line)?.[0]);
      expect(heads.filter((head) => head !== undefined)).toEqual(
        expected.map(([line, column, id]) => `${robot.config_path}:${line}:${column}: error ${id}`),
      );
    }
    expect(proxy.requests).toHaveLength(0);
  });

  test("in the manifest", async ({ robot }) => {
    await writeAtOnce(robot.manifestPath, BAD_MANIFEST);
    for (const args of [["check"], ["--setup"]]) {
      const { code, stderr } = await robot.run(args);
      expect([args, code]).toEqual([args, 3]);
      const heads = [...stderr.matchAll(/robot-manifest\.yaml:(\d+):(\d+): error (\w+): /g)].map((match) =>
        match.slice(1),
      );
      expect(heads).toEqual([
        ["2", "1", "unknown_key"],
        ["4", "5", "config_path"],
        ["6", "5", "config_duplicate"],
        ["7", "5", "wrong_type"],
      ]);
    }
  });

  test("no configuration file, with the command that creates it", async ({ scene }) => {
    await rm(scene.robot.config_path);
    const { code, stderr } = await scene.robot.run(["run"]);
    expect(code).toBe(3);
    expect(stderr).toContain(`robot-policy-agent --config ${scene.robot.config_path} `);
    expect(stderr).toContain(" init writes one");
  });

  test("no manifest beside a configuration, with a command that writes one and replaces nothing", async ({ scene }) => {
    const { robot } = scene;
    await rm(robot.manifestPath);
    const { code, stderr } = await robot.run(["check"]);
    expect(code).toBe(3);
    expect(stderr).toContain(`${robot.program} init --dir DIR writes one into another folder, to copy here`);
    expect((await robot.run(["init", "--no-test", "--dir", robot.path("new")])).code).toBe(0);
    await rename(robot.path("new/robot-manifest.yaml"), robot.manifestPath);
    expect((await robot.run(["check"])).stderr).not.toContain("file_missing");
  });
});

describe.concurrent("scenario 30: a bad edit while running:", () => {
  const edits: readonly [string, (robot: Robot) => string, string, string, string][] = [
    ["the configuration", (robot) => robot.config_path, "region: eu-central-1", "region: [", "yaml_syntax"],
    [
      "the manifest",
      (robot) => robot.manifestPath,
      "configuration_files:",
      "gripers: 2\nconfiguration_files:",
      "unknown_key",
    ],
  ];

  test.for(edits)(
    "%s → the last valid one stays in force, status shows the finding, reload fails",
    async ([, pathOf, from, to, id]) => {
      await using scene = await createScene();
      const { proxy, robot } = scene;
      await using daemon = await robot.start();
      const { registration } = await expectOneRobot(scene, daemon);
      const path = pathOf(robot);
      await replaceIn(path, from, to);
      const bad = await daemon.until(({ findings }) => findings.length > 0);
      expect(bad.healthy).toBe(false);
      expect(bad.registration).toEqual(registration);
      const [finding] = bad.findings;
      expect(finding).toMatchObject({ id, file: path });
      expect((finding?.line ?? 0) >= 1 && (finding?.column ?? 0) >= 1).toBe(true);

      const reload = await robot.run(["reload"]);
      expect(reload.code).toBe(3);
      expect(reload.stderr).toContain(`${path}:${finding?.line}:${finding?.column}: error ${id}: `);
      expect(reload.stderr).toContain("[reload-refused]");
      expect((await robot.run(["status"])).code).toBe(3);
      expect(proxy.requests).toHaveLength(1);

      await replaceIn(path, to, from);
      await daemon.until(({ healthy }) => healthy);
      expect((await robot.run(["reload"])).code).toBe(0);
      await expectOneRobot(scene, daemon);
      expect(proxy.requests).toHaveLength(1);
    },
  );

  test("a changed configuration file → registered with the last valid configuration", async ({
    scene,
    proxy,
    robot,
  }) => {
    await using daemon = await robot.start();
    await expectOneRobot(scene, daemon);
    await replaceIn(robot.config_path, "region: eu-central-1", "region: 7");
    await daemon.until(({ findings }) => findings.length > 0);
    await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 2");
    await expectOneRobot(scene, daemon);
    expect(setupBodies(proxy.requests).at(-1)).toMatchObject({ region: "eu-central-1" });
    // The next start would fail, so status already exits 3.
    expect((await robot.run(["status"])).code).toBe(3);
  });
});

describe.concurrent("scenario 30: a valid edit takes effect", () => {
  const ways: readonly [string, string, (robot: Robot, daemon: Daemon) => Promise<void> | void][] = [
    ["without a command", "{settle_ms: 150}", () => {}],
    ["on SIGHUP", "{settle_ms: 150, resync_s: 3600}", (_robot, daemon) => daemon.hangUp()],
    [
      "on reload, which returns once it is in force",
      "{settle_ms: 150, resync_s: 3600}",
      async (robot) => {
        expect(await robot.run(["reload"])).toMatchObject({ code: 0, stdout: "Reloaded\n" });
      },
    ],
  ];

  test.for(ways)("%s", async ([, watch, takeOver]) => {
    await using scene = await createScene({ watch });
    const { proxy, robot } = scene;
    await using daemon = await robot.start();
    await expectOneRobot(scene, daemon);
    await replaceIn(robot.config_path, "region: eu-central-1", "region: eu-west-1");
    await takeOver(robot, daemon);
    await proxy.arrived(2);
    expect(setupBodies(proxy.requests).at(-1)).toMatchObject({ region: "eu-west-1" });
    await expectOneRobot(scene, daemon);
    await daemon.lookAgain();
    expect(proxy.requests).toHaveLength(2);
  });
});

test.concurrent("changed site, region and labels → one request; removed ones → null and {}", async () => {
  await using scene = await createScene();
  const { proxy, robot, service } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  const [before] = await service.robots();
  expect(before).toMatchObject({ region: "eu-central-1", site: "hall-2", labels: { line: "a" } });

  const text = await readFile(robot.config_path, "utf8");
  await writeAtOnce(
    robot.config_path,
    text
      .replace("eu-central-1", "us-east-2")
      .replace("hall-2", "Halle Süd")
      .replace("{line: a}", "{line: b, cell: '7'}"),
  );
  await proxy.arrived(2);
  await expectOneRobot(scene, daemon);
  expect(await service.robots()).toEqual([
    { ...before, region: "us-east-2", site: "Halle Süd", labels: { line: "b", cell: "7" } },
  ]);

  await writeAtOnce(robot.config_path, text.replace("  site: hall-2\n", "").replace("  labels: {line: a}\n", ""));
  await proxy.arrived(3);
  await expectOneRobot(scene, daemon);
  expect(await service.robots()).toEqual([{ ...before, site: null, labels: {} }]);
  await daemon.lookAgain();
  expect(proxy.requests).toHaveLength(3);
});

test.concurrent("the configuration names another manifest → that one is registered and watched", async () => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  const manifest = await readFile(robot.manifestPath, "utf8");
  await writeAtOnce(
    robot.path("other.yaml"),
    manifest.replace("yam.bimanual-joint-position.v1", "lerobot.so101-follower.v1"),
  );
  await replaceIn(robot.config_path, robot.manifestPath, robot.path("other.yaml"));
  await proxy.arrived(2);
  await rm(robot.manifestPath);
  await writeAtOnce(robot.path("other.yaml"), manifest);
  await proxy.arrived(3);
  expect(setupBodies(proxy.requests).map((body) => (body as { robot_type_id?: string }).robot_type_id)).toEqual([
    "yam.bimanual-joint-position.v1",
    "lerobot.so101-follower.v1",
    "yam.bimanual-joint-position.v1",
  ]);
  await expectOneRobot(scene, daemon);
});

test.concurrent("scenario 31: --setup --dry-run → prints body, digest and the hash of each file", async ({ robot }) => {
  const { code, stdout } = await robot.run(["--setup", "--dry-run", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    would: "register",
    method: "POST",
    request: { name: "arm-7", region: "eu-central-1", site: "hall-2", configuration_digest: await robot.digest() },
    files: robot.paths.map((path) => ({ path, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })),
  });
});

function placesOf(stdout: string): readonly (readonly [number, number, string])[] {
  const { findings } = JSON.parse(stdout) as { findings: { line: number; column: number; id: string }[] };
  return findings.map(({ line, column, id }) => [line, column, id]);
}

test.concurrent("a configuration that every user may edit → its new address is not used, so the key goes nowhere else", async ({
  scene,
  robot,
}) => {
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  await using otherServer = await startFaultProxy(scene.service.url);
  await chmod(robot.config_path, 0o666);
  await replaceIn(robot.config_path, scene.proxy.url, otherServer.url);
  const message = `${robot.config_path} has mode 0666: every user of this machine may say where the API key is sent; chmod o-w ${robot.config_path}`;
  const exposed = { id: "writable_by_others", severity: "error", file: robot.config_path, message };
  const { findings, service, healthy } = await daemon.until((status) => status.findings.length > 0);
  expect({ findings, service, healthy }).toMatchObject({
    findings: [exposed],
    service: { url: scene.proxy.url },
    healthy: false,
  });
  const check = await robot.run(["check", "--json"]);
  expect([check.code, JSON.parse(check.stdout)]).toMatchObject([3, { valid: false, findings: [exposed] }]);

  await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 2");
  await daemon.until(({ daemon: counts }) => counts?.registrations === 2);
  await replaceIn(robot.config_path, otherServer.url, scene.proxy.url);
  await chmod(robot.config_path, 0o644);
  await daemon.until((status) => status.healthy);
  expect(setupBodies(otherServer.requests)).toEqual([]);
});

test.concurrent("log: an edit of level and format → in force without a restart", async ({ scene, robot }) => {
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  await replaceIn(robot.config_path, "log: {level: debug}", "log: {level: warn, format: text}");
  // The new level hides the log line of the reload, so wait for the command instead.
  await eventually(
    async () => ((await robot.run(["reload"])).code === 0 ? true : undefined),
    "the edit to be in force",
  );
  const outputLength = daemon.output().length;
  await rm(robot.path("left.yaml"));
  await daemon.until(({ state }) => state === "invalid");
  await eventually(
    async () => (/^\d\d:\d\d:\d\d warn {2}finding /m.test(daemon.output()) ? true : undefined),
    "a line of text",
  );
  expect(daemon.output().slice(outputLength)).not.toMatch(/"level":"(?:debug|info)"/);
});
