import { execFileSync } from "node:child_process";

import { describe, expect } from "vitest";

import { agentProgram } from "../../../../src/agent/commands/table.ts";
import { runAgentProgram } from "../../../../src/agent/program.ts";
import { runInProcess } from "../../../support/programs/in-process.ts";
import { AGENT_PROGRAM } from "../../../support/programs/programs-built.ts";
import { runAgent } from "../../../support/robot/robot.ts";
import { test } from "../../../support/service/scene-test.ts";

describe("usage", () => {
  const COMMANDS = agentProgram.commands.map(({ name }) => name).filter((name) => !name.startsWith("--"));

  test("--help → every command", async () => {
    const { stdout } = await runAgent(["--help"]);
    for (const command of COMMANDS) expect(stdout).toContain(`\n  ${command} `);
  });

  test.each(COMMANDS)("%s --help → a description and an example, within 80 columns", async (command) => {
    const { code, stdout } = await runAgent([command, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Examples:\n  ");
    expect(stdout).toContain("robot-policy-agent");
    for (const line of stdout.split("Examples:")[0]?.split("\n") ?? []) expect(line.length).toBeLessThanOrEqual(80);
  });

  test("wrong arguments → exit 2, with a suggestion on stderr", async () => {
    expect(await runAgent(["docter"])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "stderr": "error: unknown command 'docter'
      (Did you mean doctor?)
      (robot-policy-agent --help lists commands and flags)
      ",
        "stdout": "",
      }
    `);
    expect(await runAgent(["catalog", "yam.bimanual-joint-positon.v1"])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "stderr": "error: there is no type yam.bimanual-joint-positon.v1 in the catalog [type-unknown]
        → did you mean yam.bimanual-joint-position.v1?
      ",
        "stdout": "",
      }
    `);
  });

  test("--help in a pane of 60 columns → lines end between words", async () => {
    const { out } = await runInProcess("--help", (own) => runAgentProgram(["--help"], own), { columns: 60 });
    const options = out.slice(0, out.indexOf("\nExamples:")).split("\n");
    // A path that is longer than the column stays whole.
    expect(options.filter((line) => line.length > 60 && line.trim().includes(" "))).toEqual([]);
  });

  test("catalog → one type per line", async () => {
    expect((await runAgent(["catalog"])).stdout).toMatchInlineSnapshot(`
      "ID                              AXES   HZ  HOSTED  NAME
      lerobot.so101-follower.v1       6/6    30  yes     SO-101 follower arm (LeRobot)
      lerobot.bi-so101-follower.v1    12/12  30          Two SO-101 follower arms (LeRobot)
      lerobot.lekiwi.v1               9/9    30          LeKiwi mobile manipulator (LeRobot)
      trossen.aloha-bimanual.v1       14/14  50  yes     ALOHA stationary, two ViperX arms
      droid.franka-panda.v1           8/8    15  yes     Franka Panda with Robotiq 2F-85 (DROID)
      yam.bimanual-joint-position.v1  14/14  30  yes     Two YAM arms
      unitree.g1-dex3.v1              28/28  30          Unitree G1 upper body with Dex3-1 hands
      unitree.g1-dex1.v1              16/16  30          Unitree G1 upper body with Dex1-1 grippers
      bridge.widowx-250.v1            7/7    5           WidowX 250 with delta end-effector control (BridgeData V2)
      ur.ur5e-2f85.v1                 7/7    20          UR5e with Robotiq 2F-85
      "
    `);
    expect(JSON.parse((await runAgent(["catalog", "--json"])).stdout).types).toHaveLength(10);
  });

  test("catalog ID → one type in detail", async () => {
    expect((await runAgent(["catalog", "lerobot.so101-follower.v1"])).stdout).toMatchInlineSnapshot(`
      "lerobot.so101-follower.v1  SO-101 follower arm (LeRobot)
      hosted    yes: registers by its id alone
      topology  single_arm
      actions   joint_position, 30 Hz
      axes      6 state, 6 action
      cameras   declared by whoever installs the robot
      source    names, order, degrees: huggingface/lerobot src/lerobot/robots/so_follower/so_follower.py and config_so_follower.py (use_degrees true since 0.4.4); position limits: half the travel in nine public calibration files of LeRobot, rounded up to 5 deg, and wrist_roll a full turn as so_follower.py records it. TheRobotStudio/SO-ARM100 Simulation/SO101/so101_new_calib.urdf has less (110, 100, 96.8, 95, -157 to 163 deg), from the CAD, and eight of the nine arms leave it: how far an arm goes is a property of its calibration, and may be wider. Velocity: OpenRAL/openral robots/so101_follower/robot.yaml (the URDF has the exporter's 10); gripper 0 closed, 100 open: so_follower.py, so101_new_calib.urdf; 30 Hz: so101_follower/robot.yaml

      #  ELEMENT            KIND     UNIT     LIMITS                SPEED
      0  arm.shoulder_pan   arm      deg      -2.0944 … 2.0944 rad  4.5 rad/s
      1  arm.shoulder_lift  arm      deg      -1.9199 … 1.9199 rad  4.5 rad/s
      2  arm.elbow_flex     arm      deg      -1.8326 … 1.8326 rad  4.5 rad/s
      3  arm.wrist_flex     arm      deg      -1.9199 … 1.9199 rad  4.5 rad/s
      4  arm.wrist_roll     arm      deg      -3.1416 … 3.1416 rad  4.5 rad/s
      5  gripper.gripper    gripper  percent  closed 0, open 100
      "
    `);
    expect(JSON.parse((await runAgent(["catalog", "droid.franka-panda.v1", "--json"])).stdout)).toMatchObject({
      robot_type_id: "droid.franka-panda.v1",
      state_axes: 8,
      action_axes: 8,
    });
  });

  test.each(["manifest", "config"])("schema %s → a JSON Schema", async (document) => {
    const schema = JSON.parse((await runAgent(["schema", document])).stdout);
    expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
  });

  test("__complete → offers every command", async () => {
    const { code, stdout } = await runAgent(["__complete", ""]);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toContain(`\n${command}\t`);
  });

  test("completion bash → can be sourced as the help says", { tags: "needs/program" }, () => {
    const args = [process.execPath, AGENT_PROGRAM, "completion", "bash"];
    const script = 'source <("$@"); complete -p robot-policy-agent';
    expect(execFileSync("bash", ["-euc", script, "bash", ...args], { encoding: "utf8" })).toBe(
      "complete -F _robot_policy_agent robot-policy-agent\n",
    );
  });
});
