import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Contract, contractText } from "../../../../src/manifest/custom/contract.ts";
import { customManifest } from "../../../support/robot/custom-manifest.ts";
import { replaceIn } from "../../../support/robot/robot.ts";
import { createScene, type Scene } from "../../../support/service/scene.ts";

const GOLDEN = join(import.meta.dirname, "../../../golden/robot-manifest/examples");

let scene: Scene;
beforeEach(async () => {
  scene = await createScene();
});
afterEach(() => scene[Symbol.asyncDispose]());

async function contract(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { robot } = scene;
  const { code, stdout, stderr } = await robot.run(["contract", ...args]);
  const withoutFolder = (text: string) => text.replaceAll(robot.folder, "/robot");
  return { code, stdout: withoutFolder(stdout), stderr: withoutFolder(stderr) };
}

async function writeManifest(name: string, edit: (text: string) => string = (text) => text): Promise<string> {
  const path = scene.robot.path(name);
  await writeFile(path, edit(customManifest(["/etc/arm.yaml"])));
  return path;
}

describe("contract FILE", () => {
  test("contract → the robot's vectors", async () => {
    const { code, stdout, stderr } = await contract(await writeManifest("good.yaml"));
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatchInlineSnapshot(`
      "acme.bench.v1
      topology  single_arm
      actions   joint_position, 20 Hz, gripper continuous
      cameras   front 640×480 30 fps
      digest    sha256:856adfce7b55a4dea01e2a51104d8b5e8df04b59c793606e0abf1f2d81c14330

      #  ACTION                    RANGE                 FROM NATIVE     MAX STEP
      0  arm.shoulder.position     -1.5708 … 1.5708 rad  0.017453 × deg  0.05236
      1  arm.elbow.position        -0.7854 … 2.0944 rad  0.017453 × deg  0.05236
      2  gripper.gripper.position  0 … 1                 0.0125 × mm

      #  STATE                     RANGE                 FROM NATIVE
      0  arm.shoulder.position     -1.5708 … 1.5708 rad  0.017453 × deg
      1  arm.elbow.position        -0.7854 … 2.0944 rad  0.017453 × deg
      2  gripper.gripper.position  0 … 1                 0.0125 × mm
      "
    `);
  });

  test("contract --json → only findings and contract; the example's, byte for byte", async () => {
    const { code, stdout } = await contract("--json", join(GOLDEN, "franka-droid.yaml"));
    expect(code).toBe(0);
    const answer = JSON.parse(stdout) as { contract: Contract };
    expect(Object.keys(answer)).toEqual(["findings", "contract"]);
    expect(answer).toMatchObject({
      findings: [
        {
          id: "full_scale_over_limit",
          severity: "warning",
          loc: "/groups/0/normalized",
          message: expect.any(String),
          file: join(GOLDEN, "franka-droid.yaml"),
          line: 15,
          column: 17,
        },
      ],
    });
    expect(contractText(answer.contract)).toBe(
      (await readFile(join(GOLDEN, "franka-droid.contract.json"), "utf8")).trimEnd(),
    );
  });

  test("contract --json: an error → no contract, exit 3", async () => {
    const path = await writeManifest("bad.yaml", (text) => text.replace("unit: deg", "unit: degrees"));
    const { code, stdout, stderr } = await contract("--json", path);
    expect([code, stderr]).toEqual([3, ""]);
    expect(JSON.parse(stdout)).toEqual({
      findings: [
        {
          id: "not_allowed",
          severity: "error",
          loc: "/groups/0/unit",
          message: "degrees is not one of rad, deg, m, mm, ratio, percent, calibrated_range, counts; did you mean deg?",
          file: "/robot/bad.yaml",
          line: 9,
          column: 11,
        },
      ],
      contract: null,
    });
  });

  test("contract --json: missing file → a finding", async () => {
    const { code, stdout } = await contract("--json", "/robot/missing.yaml");
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ findings: [{ severity: "error", loc: "" }], contract: null });
  });

  test("contract --json: the configuration has an error → the finding names that file", async () => {
    await replaceIn(scene.robot.path("config.yaml"), "region:", "regoin:");
    const { code, stdout } = await contract("--json");
    expect(code).toBe(3);
    const { findings } = JSON.parse(stdout) as { findings: readonly { file: string }[] };
    expect(new Set(findings.map(({ file }) => file))).toEqual(new Set(["/robot/config.yaml"]));
  });

  test("contract: a draft → no contract", async () => {
    const path = await writeManifest("draft.yaml", (text) => `status: draft\n${text}`);
    expect(await contract(path)).toMatchObject({
      code: 0,
      stdout: "No contract is sent: the manifest is a draft.\n",
    });
    expect(JSON.parse((await contract("--json", path)).stdout)).toMatchObject({ contract: null });
  });

  test("check: a manifest with ten mistakes → fits on a page", async () => {
    const { robot } = scene;
    const mistakes: readonly (readonly [string, string])[] = [
      ["topology: single_arm", "topology: singel_arm"],
      ["control_rate_hz: 20", 'control_rate_hz: "20"'],
      ["kind: arm", "knid: arm"],
      ["[shoulder, elbow]", "[shoulder, shoulder]"],
      ["unit: deg", "unit: degrees"],
      ["zero: urdf", "zero: urfd"],
      ["[-90, 90]", "[-90]"],
      ["open: 80", "opened: 80"],
      ["mount: exterior", "mount: extrior"],
      ["fps: 30", "fps: 300"],
    ];
    await writeFile(
      robot.manifestPath,
      mistakes.reduce((text, [from, to]) => text.replace(from, to), customManifest(["/etc/arm.yaml"])),
    );
    const { code, stderr } = await robot.run(["check"]);
    expect(code).toBe(3);
    expect(stderr.split("\n").length).toBeLessThan(50);
    expect(stderr.replaceAll(robot.folder, "/robot")).toMatchInlineSnapshot(`
      "/robot/robot-manifest.yaml:2:11: error not_allowed: singel_arm is not one of single_arm, bimanual, mobile_manipulator; did you mean single_arm?
          topology: singel_arm
                    ^
      /robot/robot-manifest.yaml:4:18: error wrong_type: expected a number, found a text; write it without quotes
          control_rate_hz: "20"
                           ^
      /robot/robot-manifest.yaml:7:5: error unknown_key: unknown key knid; did you mean kind?
              knid: arm
              ^
      /robot/robot-manifest.yaml:8:26: error duplicate_name: shoulder is already used
              elements: [shoulder, shoulder]
                                   ^
      /robot/robot-manifest.yaml:9:11: error not_allowed: degrees is not one of rad, deg, m, mm, ratio, percent, calibrated_range, counts; did you mean deg?
              unit: degrees
                    ^
      /robot/robot-manifest.yaml:10:11: error not_allowed: urfd is not one of urdf, driver, calibrated_mid; did you mean urdf?
              zero: urfd
                    ^
      /robot/robot-manifest.yaml:11:25: error list_length: expected 2 items, found 1
              limits: {position: [[-90], [-45, 120]], velocity: 60}
                                  ^
      /robot/robot-manifest.yaml:12:56: error missing: open is required
          …ame: gripper, kind: gripper, unit: mm, aperture: {closed: 0, opened: 80}}
                                                            ^
      /robot/robot-manifest.yaml:12:68: error unknown_key: unknown key opened; did you mean open?
          …, kind: gripper, unit: mm, aperture: {closed: 0, opened: 80}}
                                                            ^
      /robot/robot-manifest.yaml:14:26: error not_allowed: extrior is not one of exterior, wrist, head, base; did you mean exterior?
            - {role: front, mount: extrior, width: 640, height: 480, fps: 300}
                                   ^
      /robot/robot-manifest.yaml:14:65: error out_of_range: 300 is outside the range: above 0, up to 240
            - {role: front, mount: extrior, width: 640, height: 480, fps: 300}
                                                                          ^
      "
    `);
  });
});

describe("contract --diff", () => {
  test("contract --diff: nothing registered → says so", async () => {
    expect(await contract("--diff")).toMatchObject({ code: 0, stdout: "Nothing is registered yet.\n" });
  });

  test("contract --diff → the differences to the registered contract as text", async () => {
    const { robot, proxy } = scene;
    expect((await robot.run(["--setup"])).code).toBe(0);
    expect((await contract("--diff")).stdout).toMatchInlineSnapshot(`
      "Registered as yam.bimanual-joint-position.v1 without a contract, as it is now.
      "
    `);
    await writeFile(robot.manifestPath, customManifest(robot.paths));
    expect((await contract("--diff")).stdout).toMatchInlineSnapshot(`
      "Registered as yam.bimanual-joint-position.v1 without a contract; it is now acme.bench.v1 with a contract.
      "
    `);
    expect((await robot.run(["--setup"])).code).toBe(0);
    expect((await contract("--diff")).stdout).toBe("The registered contract is the same.\n");
    const sent = JSON.parse(proxy.requests.at(-1)?.body ?? "") as { contract: Contract };
    expect(sent.contract.schema).toBe("robot-contract/v1");

    await writeFile(robot.manifestPath, `status: draft\n${customManifest(robot.paths)}`);
    expect((await contract("--diff")).stdout).toBe("The manifest is a draft: what is registered stays.\n");
    await writeFile(robot.manifestPath, customManifest(robot.paths));

    await replaceIn(robot.manifestPath, "[shoulder, elbow]", "[elbow, shoulder]");
    await replaceIn(robot.manifestPath, "[[-90, 90], [-45, 120]]", "[[-45, 120], [-90, 90]]");
    await replaceIn(robot.manifestPath, "closed: 0, open: 80", "closed: 80, open: 0");
    const preview = await robot.run(["--setup", "--dry-run"]);
    expect(preview.stdout).toContain(
      "\nchanged  contract action_axes arm.shoulder.position was at index 0, is at index 1\n",
    );
    const { code, stdout } = await contract("--diff");
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "action_axes arm.shoulder.position  was at index 0, is at index 1
      action_axes arm.elbow.position  was at index 1, is at index 0
      action_axes gripper.gripper.position  direction flipped: growing numbers moved it up, now down; was 0.0125 × mm, is -0.0125 × mm + 1
      state_axes arm.shoulder.position  was at index 0, is at index 1
      state_axes arm.elbow.position  was at index 1, is at index 0
      state_axes gripper.gripper.position  direction flipped: growing numbers moved it up, now down; was 0.0125 × mm, is -0.0125 × mm + 1
      "
    `);
    expect(JSON.parse((await contract("--diff", "--json")).stdout)).toMatchObject({
      note: null,
      changes: expect.arrayContaining([expect.objectContaining({ kind: "direction" })]),
    });
  });

  test("--setup --dry-run and check --json → the contract that would be sent", async () => {
    const { robot } = scene;
    await writeFile(robot.manifestPath, customManifest(robot.paths));
    const [preview, checked, { stdout }] = await Promise.all([
      robot.run(["--setup", "--dry-run", "--json"]),
      robot.run(["check", "--json"]),
      robot.run(["contract", "--json"]),
    ]);
    const { contract } = JSON.parse(stdout) as { contract: Contract };
    expect(contract.robot_type_id).toBe("acme.bench.v1");
    for (const { stdout: shown } of [preview, checked])
      expect(JSON.parse(shown)).toMatchObject({ request: { contract } });
    expect((await robot.run(["--setup", "--dry-run"])).stdout).toContain('"schema": "robot-contract/v1"');
  });
});
