/** Scenario 32: `status` with and without the daemon, and its exit codes. */
import { chmod, rm, stat, symlink } from "node:fs/promises";

import { describe, expect } from "vitest";

import { lastingPart } from "../../../../src/agent/commands/status.ts";
import type { StatusDocument } from "../../../../src/agent/status.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import { replaceIn, type Robot, writeAtOnce } from "../../../support/robot/robot.ts";
import type { Fault } from "../../../support/service/fault-proxy.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene, expectOneRobot } from "../../../support/service/scene.ts";

function answer(status: number): Fault {
  return { kind: "answer", status, body: JSON.stringify({ detail: "no" }) };
}

describe.concurrent("scenario 32: status exits by health, with the daemon:", () => {
  const cases: readonly [StatusDocument["state"], number, Fault | null, ((robot: Robot) => Promise<void>) | null][] = [
    ["registered", 0, null, null],
    ["invalid", 3, null, (robot) => rm(robot.path("left.yaml"))],
    ["draft", 3, null, (robot) => replaceIn(robot.manifestPath, "robot_type_id", "status: draft\nrobot_type_id")],
    ["unreachable", 4, answer(503), null],
    ["unauthorized", 5, answer(401), null],
    ["rejected", 6, answer(422), null],
    ["misconfigured", 6, answer(404), null],
    ["misconfigured", 6, answer(405), null],
    ["conflict", 7, answer(409), null],
  ];

  test.for(cases)("%s → %i", async ([state, code, fault, prepare], { expect }) => {
    await using scene = await createScene();
    const { proxy, robot } = scene;
    if (fault !== null) proxy.inject(fault, Number.POSITIVE_INFINITY);
    await prepare?.(robot);
    await using daemon = await robot.start();
    await daemon.until((status) => status.state === state);
    // The daemon answers from memory, also during attempts.
    const json = await robot.run(["status", "--json"]);
    expect(json.stderr === "" || code !== 0).toBe(true);
    const document = JSON.parse(json.stdout) as StatusDocument;
    expect(document).toMatchObject({ schema_version: 1, healthy: code === 0, robot: { name: "arm-7" } });
    if (document.state === state) expect(json.code).toBe(code);
    const text = await robot.run(["status"]);
    if (state !== "unreachable") expect(text.code).toBe(code);
    if (code !== 0 && state !== "unreachable") expect(text.stderr).toMatch(/\n {2}→ \S|: error /);
    const health = JSON.parse(await daemon.ask("GET", "/readyz")) as { ready: boolean };
    expect(health.ready).toBe(code === 0);
    expect(JSON.parse(await daemon.ask("GET", "/healthz"))).toEqual({ status: "ok" });
    expect(await daemon.ask("GET", "/metrics")).toMatch(
      new RegExp(`^robot_policy_agent_healthy ${code === 0 ? 1 : 0}$`, "m"),
    );
  });
});

describe("scenario 32: the daemon is not running", () => {
  test("before its first start → one JSON document from the files on the disk, exit 1", async ({ scene }) => {
    const { code, stdout } = await scene.robot.run(["status", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      schema_version: 1,
      state: "stopped",
      healthy: false,
      robot: { name: "arm-7", view: null },
      registration: null,
      configuration_digest: await scene.robot.digest(),
      daemon: null,
    });
  });

  test(
    "killed after it registered → the registration, and that files changed since",
    { tags: "needs/program" },
    async ({ scene, robot }) => {
      const daemon = await robot.startProcess();
      const { registration } = await expectOneRobot(scene, daemon);
      await daemon.stop("SIGKILL");
      await writeAtOnce(robot.path("left.yaml"), "offset: 2\n");

      const { code, stdout } = await robot.run(["status", "--json"]);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({
        state: "stopped",
        registration,
        configuration_digest: await robot.digest(),
        robot: { view: { name: "arm-7" } },
      });
      const text = await robot.run(["status"]);
      expect(text.code).toBe(1);
      expect(text.stdout).toContain("(differs)");
      expect(text.stderr).toContain(
        `→ start it: ${robot.program} run, or systemctl start robot-policy-agent where it is a service`,
      );
    },
  );

  test("another name or another machine → does not suggest a start", async ({ robot }) => {
    expect((await robot.run(["--setup"])).code).toBe(0);
    await replaceIn(robot.config_path, "name: arm-7", "name: arm-8");
    const renamed = await robot.run(["status"]);
    expect(renamed.code).toBe(1);
    expect(renamed.stderr).toContain("error other_name: registered as arm-7, but the name is now arm-8");
    expect(renamed.stderr).toContain(`${robot.program} rebind`);
    await replaceIn(robot.config_path, "name: arm-8", "name: arm-7");
    expect((await robot.run(["status"])).stderr).not.toContain("other_");
  });

  test("findings in the manifest → shown too", async ({ scene }) => {
    await rm(scene.robot.path("left.yaml"));
    const { code, stdout } = await scene.robot.run(["status", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ findings: [{ id: "file_missing", line: 3, column: 5 }] });
  });
});

test("the state cannot be read, not for lack of permission → exit 1, and the remedy is not another user", async ({
  robot,
}) => {
  const path = robot.path("state/registration.json");
  await symlink(path, path);
  const { code, stderr } = await robot.run(["status"]);
  expect(code).toBe(1);
  expect(stderr).toContain("the state cannot be read (ELOOP)");
  expect(stderr).toContain("look at the file, and at what the kernel says of its disk: ls -l ");
});

test("control socket → accessible to owner and group only", async ({ scene, robot }) => {
  await chmod(robot.runtime_directory, 0o755);
  await using daemon = await robot.start();
  await expectOneRobot(scene, daemon);
  expect(((await stat(robot.socket_path)).mode & 0o777).toString(8)).toBe("660");
  expect(await daemon.ask("GET", "/nothing")).toContain("no GET /nothing here");
});

test("status --watch: only the time of a next attempt differs → counts as unchanged", async () => {
  await using scene = await createScene();
  const clock = new PushedClock();
  await using daemon = await scene.robot.start({}, clock);
  const before = await daemon.until(({ state }) => state === "registered");
  clock.push(60_000);
  // A file that is being read during the push counts as a disk that hangs.
  const after = await daemon.until(({ healthy }) => healthy);
  expect(after.confirmation?.next_at).not.toBe(before.confirmation?.next_at);
  expect(lastingPart(after)).toBe(lastingPart(before));
  expect(lastingPart({ ...after, state: "invalid" })).not.toBe(lastingPart(before));
});
