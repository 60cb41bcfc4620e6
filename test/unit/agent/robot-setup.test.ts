import { describe, expect, test } from "vitest";

import { type AgentConfiguration, readConfiguration } from "../../../src/agent/configuration/configuration.ts";
import { buildRobotSetup, checkCommonName, checkName, listedFiles, robotName } from "../../../src/agent/robot-setup.ts";
import { readManifest, type RobotManifest } from "../../../src/manifest/manifest.ts";
import { customManifest } from "../../support/robot/custom-manifest.ts";

/** A configuration with additional members of the robot, in YAML. */
function configurationOf(robot: string): AgentConfiguration {
  const text = `service: { url: "https://policy.example" }\nrobot: { region: eu-central-1, ${robot} }\n`;
  const { value: configuration, findings } = readConfiguration(Buffer.from(text), "/etc/agent/config.yaml");
  if (configuration === null) throw new Error(JSON.stringify(findings));
  return configuration;
}

async function manifestOf(files: string): Promise<RobotManifest> {
  const text = `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files: ${files}\n`;
  const { value: manifest, findings } = await readManifest(Buffer.from(text));
  if (manifest === null) throw new Error(JSON.stringify(findings));
  return manifest;
}

describe("listedFiles", () => {
  const LIST = "[/etc/a.yaml, ~/b.yaml, {label: tool, path: /etc/c.yaml}, {label: hand, path: ~/d/e.yaml}]";

  test("files below ~/ and others → the manifest's order and labels", async () => {
    expect(listedFiles(configurationOf("name: arm-7, home: /home/robot"), await manifestOf(LIST))).toEqual({
      finding: null,
      files: [
        { label: "/etc/a.yaml", path: "/etc/a.yaml", entry: 0 },
        { label: "~/b.yaml", path: "/home/robot/b.yaml", entry: 1 },
        { label: "tool", path: "/etc/c.yaml", entry: 2 },
        { label: "hand", path: "/home/robot/d/e.yaml", entry: 3 },
      ],
    });
  });

  test("no home, file below ~/ → finding for the first one", async () => {
    expect(listedFiles(configurationOf("name: arm-7"), await manifestOf(LIST))).toMatchObject({
      files: [],
      finding: { id: "home_missing", loc: "/configuration_files/1", message: expect.stringContaining("~/b.yaml") },
    });
  });

  test("no home, files elsewhere → no finding", async () => {
    const manifest = await manifestOf("[/etc/a.yaml]");
    expect(listedFiles(configurationOf("name: arm-7"), manifest).finding).toBeNull();
  });
});

describe("buildRobotSetup", () => {
  const DIGEST = `sha256:${"a".repeat(64)}`;
  test("no site, labels or contract → omitted", async () => {
    const manifest = { ...(await manifestOf("[]")), contract: null };
    expect(buildRobotSetup(configurationOf("name: x"), manifest, DIGEST, "arm-7")).toStrictEqual({
      name: "arm-7",
      robot_type_id: "yam.bimanual-joint-position.v1",
      region: "eu-central-1",
      configuration_digest: DIGEST,
    });
  });

  test("site, labels and contract → sent", async () => {
    const { value: manifest } = await readManifest(Buffer.from(customManifest()));
    if (manifest === null) throw new Error("a manifest without errors");
    const configuration = configurationOf('name: x, site: hall-2, labels: { line: "4" }');
    expect(buildRobotSetup(configuration, manifest, DIGEST, "arm-7")).toMatchObject({
      site: "hall-2",
      labels: { line: "4" },
      contract: { schema: "robot-contract/v1", robot_type_id: "acme.bench.v1" },
    });
  });
});

describe("the name", () => {
  const MACHINE = "0123456789abcdef".repeat(4);

  test.each([
    ["arm-7", MACHINE, "arm-7"],
    ["{hostname}", null, "cell"],
    ["{hostname}-{machine_id}", MACHINE, "cell-0123456789ab"],
  ])("robotName: %s on machine %s → %s", (name, machine, expected) => {
    expect(robotName(configurationOf(`name: "${name}"`), { hostname: "cell", machine })).toBe(expected);
  });

  test.each([
    ["{hostname}", "x".repeat(64), MACHINE, undefined],
    ["{hostname}", "x".repeat(65), MACHINE, "name_length"],
    // Code points, not UTF-16 units.
    ["{hostname}", "🤖".repeat(64), MACHINE, undefined],
    ["{hostname}", "", MACHINE, "name_length"],
    ["{hostname}", "x", null, undefined],
    ["{hostname}-{machine_id}", "x", null, "machine_id_missing"],
    ["{hostname}-{machine_id}", "x".repeat(51), MACHINE, undefined],
    ["{hostname}-{machine_id}", "x".repeat(52), MACHINE, "name_length"],
  ])("checkName: %s on host %s with machine id %s → %s", (name, hostname, machine, id) => {
    expect(checkName(configurationOf(`name: "${name}"`), { hostname, machine })?.id).toBe(id);
  });

  test.each([
    ["{hostname}", "raspberrypi", "name_common"],
    ["{hostname}", "Ubuntu", "name_common"],
    ["cell-{hostname}", "raspberrypi", "name_common"],
    ["{hostname}-arm", "localhost", "name_common"],
    ["cell-{hostname}-{machine_id}", "raspberrypi", undefined],
    ["{hostname}", "cell-4", undefined],
    ["{hostname}-{machine_id}", "raspberrypi", undefined],
    ["arm-7", "localhost", undefined],
  ])("checkCommonName: %s on host %s → %s", (name, hostname, id) => {
    expect(checkCommonName(configurationOf(`name: "${name}"`), hostname)?.id).toBe(id);
  });
});
