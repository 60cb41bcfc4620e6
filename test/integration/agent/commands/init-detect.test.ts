/** `init --detect`: what it writes of what it finds, and when it writes nothing. */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";
import { parse } from "yaml";

import { testFolder } from "../../../support/folder.ts";
import { type Layout, lerobotCalibration, robotHome } from "../../../support/robot/homes.ts";
import { runAgent } from "../../../support/robot/robot.ts";

const SO_FOLLOWER = ".cache/huggingface/lerobot/calibration/robots/so_follower";
const STRETCH = "stretch_user/stretch-se3-3004/stretch_configuration_params.yaml";

async function detectIn(layout: Layout, more: readonly string[] = []) {
  const { home } = robotHome(layout);
  const directory = testFolder("etc");
  const HOME = home;
  const given = ["--dir", directory, "--url", "https://127.0.0.1:9", "--region", "eu", "--no-test", ...more];
  const { code, stdout, stderr } = await runAgent(["init", "--detect", ...given], { HOME });
  const manifest = join(directory, "robot-manifest.yaml");
  return {
    home,
    directory,
    code,
    // Without the devices of the computer that runs the test.
    text: stderr
      .replace(/^Devices [^]*/m, "")
      .replaceAll(home, "~")
      .replaceAll(directory, "/etc/robot"),
    stdout,
    manifest: existsSync(manifest) ? parse(await readFile(manifest, "utf8")) : null,
  };
}

test("init --detect --yes: type and files of the only robot are written, and nothing is asked", async () => {
  const layout = { [`${SO_FOLLOWER}/arm.json`]: lerobotCalibration(), [`${SO_FOLLOWER}/half.json`]: "{" };
  const { code, text, manifest, home } = await detectIn(layout, ["--yes", "--unit", "deg"]);

  expect(code).toBe(0);
  expect(manifest).toEqual({
    robot_type_id: "lerobot.so101-follower.v1",
    status: "ready",
    configuration_files: [join(home, SO_FOLLOWER, "arm.json")],
  });
  expect(text).toMatchInlineSnapshot(`
    "Found SO-101 or SO-100 follower arm (LeRobot) (lerobot.so101-follower.v1), by LeRobot's calibration in ~/.cache/huggingface/lerobot/calibration/robots/so_follower
      ~/.cache/huggingface/lerobot/calibration/robots/so_follower/arm.json  calibration of LeRobot, of 2026-11-01
    Left out:
      ~/.cache/huggingface/lerobot/calibration/robots/so_follower/half.json  not a calibration of LeRobot, or an incomplete one
    Note: cameras and units given to LeRobot on its command line are in no file: write them to one, start it with --config_path=FILE, and list it
    "
  `);
});

test("check, doctor: a younger calibration beside the listed one → a warning, at its line of the manifest", async () => {
  const layout = { [`${SO_FOLLOWER}/../so101_follower/arm.json`]: lerobotCalibration() };
  const { home, directory } = await detectIn(layout, ["--yes", "--unit", "deg"]);
  await mkdir(join(home, SO_FOLLOWER));
  await writeFile(join(home, SO_FOLLOWER, "arm.json"), lerobotCalibration("", 2000));
  const { stderr } = await runAgent(["check", "--config", join(directory, "config.yaml")]);
  const doctor = await runAgent(["doctor", "--config", join(directory, "config.yaml")]);

  const line = (await readFile(join(directory, "robot-manifest.yaml"), "utf8"))
    .split("\n")
    .findIndex((each) => each.includes("arm.json"));
  expect(stderr).toContain(`robot-manifest.yaml:${line + 1}:`);
  expect(stderr).toContain("calibration_stale");
  expect(stderr).toContain("may be stale: LeRobot renamed the folder in 0.4.3");
  expect(doctor.stdout.replaceAll(/\s+/g, " ")).toMatch(/warn files .*may be stale.*list it in place of/);
});

test("init --detect --yes: a robot near to a type → its files, and the type stays open", async () => {
  const layout = { [`${SO_FOLLOWER}/../koch_follower/arm.json`]: lerobotCalibration() };
  const { code, text, manifest } = await detectIn(layout, ["--yes"]);

  expect(code).toBe(0);
  expect(text).toContain("(near lerobot.so101-follower.v1: the same six axes with limits of its own");
  expect(manifest).toMatchObject({ robot_type_id: "<id from: robot-policy-agent catalog>", status: "ready" });
  expect(manifest.configuration_files).toHaveLength(1);
});

test.each<[string, Layout, readonly string[], string]>([
  ["two robots", { [`${SO_FOLLOWER}/arm.json`]: lerobotCalibration(), [STRETCH]: "arm: {}" }, ["--yes"], "which robot"],
  [
    "a LeRobot arm, without --unit",
    { [`${SO_FOLLOWER}/arm.json`]: lerobotCalibration() },
    ["--yes"],
    "no file says what the joints are in",
  ],
  ["nothing", { "notes.txt": "" }, ["--yes"], "no robot's files were found; nothing was written"],
])("init --detect --yes: %s → nothing is written, and what to do", async (_name, layout, more, says) => {
  const { code, text, manifest } = await detectIn(layout, more);

  expect(code).toBe(3);
  expect(text).toContain(says);
  expect(text).toMatch(/name --type and each --file|--unit deg for degrees: LeRobot 0\.4\.4 and newer/);
  expect(manifest).toBeNull();
});

test("init --detect without a terminal: says what it found and where it looked, and leaves placeholders", async () => {
  const { code, text, manifest } = await detectIn({ "notes.txt": "" });

  expect(code).toBe(0);
  expect(text).toContain("No files of a robot were found. Looked in:\n  ~\n");
  expect(manifest).toMatchObject({ status: "draft" });
});

test("init: without --detect and without a terminal, it looks nowhere", async () => {
  const { home } = robotHome({ [`${SO_FOLLOWER}/arm.json`]: lerobotCalibration() });
  const { stderr } = await runAgent(["init", "--dir", testFolder("etc"), "--no-test"], { HOME: home });

  expect(stderr).toBe("");
});

test("init: --yes without --detect, and --detect in an image → refused", async () => {
  const image = join(testFolder("image"), "etc/robot-policy-agent");

  expect(await runAgent(["init", "--yes", "--dir", testFolder("etc")])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("add --detect"),
  });
  expect(await runAgent(["init", "--detect", "--dir", image])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("not at an image"),
  });
});
