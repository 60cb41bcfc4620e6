/** The two commented files that `init` writes. */
import { readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { readConfiguration } from "../../../../src/agent/configuration/configuration.ts";
import { armOf, rangesOf, readCalibration } from "../../../../src/agent/init/detect/calibration.ts";
import { stepsHere } from "../../../../src/agent/init/places.ts";
import { configurationText, manifestText, yamlText } from "../../../../src/agent/init/texts.ts";
import { type JointUnit, READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";
import { CATALOG_ROWS } from "../../../../src/manifest/catalog/rows.ts";
import { readManifest } from "../../../../src/manifest/manifest.ts";
import { lerobotCalibration } from "../../../support/robot/homes.ts";

const CONFIGURATION = {
  url: "https://policy.example.com",
  region: "us-west-2",
  keyFile: "/etc/robot-policy-agent/api-key",
  caFile: null,
  allowInsecure: false,
  proxy: null,
  enrolmentKeyFile: null,
  name: "{hostname}",
  site: "plant-1",
  labels: { line: "4", cell: "packing" },
  hasHomePaths: false,
};
const MANIFEST = {
  robotTypeId: "yam.bimanual-joint-position.v1",
  base: null,
  unit: null,
  files: [
    "/opt/yam/configs/yam_left.yaml",
    "/opt/yam/configs/yam_right.yaml",
    "/etc/udev/rules.d/90-yam-cameras.rules",
  ],
};

test.each([
  ["config", configurationText(CONFIGURATION, hint("config.yaml"))],
  ["robot-manifest", manifestText(MANIFEST, hint("robot-manifest.yaml"))],
])("example robot → config/%s.example.yaml", (name, text) => {
  expect(text).toBe(readFileSync(new URL(`../../../../config/${name}.example.yaml`, import.meta.url), "utf8"));
});

function hint(name: string): string {
  return `Copy to /etc/robot-policy-agent/${name}, then: robot-policy-agent check`;
}

describe("configurationText", () => {
  const anyText = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
    .filter((text) => text.trim() === text && !/\p{Cc}/u.test(text));

  test("configurationText: any answers → read back unchanged", () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, anyText, (region, site, label, value) => {
        const text = configurationText({ ...CONFIGURATION, region, site, labels: { [label]: value } }, "x");
        expect(parse(text)).toMatchObject({ robot: { region, site, labels: { [label]: value } } });
      }),
    );
  });

  test("configurationText: missing answers → only findings about placeholders", () => {
    const text = configurationText({ ...CONFIGURATION, url: null, region: null, site: null, labels: {} }, "x");
    const { findings } = readConfiguration(Buffer.from(text), "/etc/robot-policy-agent/config.yaml");
    expect(findings.map(({ id, loc }) => [id, loc])).toEqual([
      ["placeholder", "/service/url"],
      ["placeholder", "/robot/region"],
    ]);
  });

  test("configurationText: proxy and key for enrolments → written, and the robot enrolls", () => {
    const answers = { ...CONFIGURATION, proxy: "http://proxy.example:3128", enrolmentKeyFile: "/boot/enrolment-key" };
    expect(parse(configurationText(answers, "x"))).toMatchObject({
      service: { proxy: answers.proxy, enrolment_key_file: answers.enrolmentKeyFile, identity: "enrolled" },
    });
  });
});

test("yamlText: any text → read back from one line, and not as another value by tools of YAML 1.1", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(parse(`key: ${yamlText(text)}\n`)).toEqual({ key: text });
      expect(yamlText(text)).not.toContain("\n");
    }),
  );
  expect(["no", "4", "~", "policy"].map(yamlText)).toEqual(['"no"', '"4"', '"~"', "policy"]);
  expect(parse(`key: ${yamlText("\u00a0")}\n`)).toEqual({ key: "\u00a0" });
});

describe("manifestText", () => {
  test.each([
    [[], ["status_draft", "no_config_files"]],
    [["/opt/a b/c: d #e.yaml", "~/x.json"], []],
  ])("manifestText: files %j → findings %j", async (paths, ids) => {
    const text = manifestText({ ...MANIFEST, files: paths }, "x");
    const { findings, value: manifest } = await readManifest(Buffer.from(text));
    expect(findings.map(({ id }) => id)).toEqual(ids);
    expect(manifest?.configuration_files.map(({ path }) => path)).toEqual(paths);
  });

  test("manifestText: a LeRobot type by its id → says which unit that means", () => {
    expect(manifestText({ ...MANIFEST, robotTypeId: "lerobot.so101-follower.v1" }, "x")).toContain(
      "# Its joints are in degrees: LeRobot 0.4.4 and newer, and older ones with --robot.use_degrees=true.\n",
    );
  });
});

describe("manifestText: a type that extends one of the catalog", () => {
  test.each(CATALOG_ROWS)("$robot_type_id → only findings about placeholders", async (base) => {
    const text = manifestText({ ...MANIFEST, base }, "x");
    const { findings } = await readManifest(Buffer.from(text));
    expect(new Set(findings.map(({ id, severity }) => `${severity} ${id}`))).toEqual(new Set(["error placeholder"]));
    const filled = fill(text);
    const reading = await readManifest(Buffer.from(filled));
    // DROID's full scale exceeds the limits of its arm.
    expect(reading.findings.filter(({ id }) => id !== "full_scale_over_limit")).toEqual([]);
    expect(reading.value?.contract?.robot_type_id).toMatch(/^acme\./);
    expect(filled).not.toContain(": <");
    const withoutFiles = manifestText({ ...MANIFEST, base, files: [] }, "x");
    for (const path of READY_CATALOG.get(base.robot_type_id)?.files ?? [])
      expect(withoutFiles).toContain(`#   - ${path}\n`);
  });

  test.each<[string, JointUnit, string]>([
    ["lerobot.lekiwi.v1", "deg", "0.6.0 and newer, and older ones with --robot.use_degrees=true"],
    ["lerobot.lekiwi.v1", "calibrated_range", "before 0.6.0, and newer ones with --robot.use_degrees=false"],
    ["lerobot.bi-so101-follower.v1", "calibrated_range", "before 0.4.4"],
  ])("%s in %s → both units are explained, and this one is written", async (id, unit, says) => {
    const base = CATALOG_ROWS.find(({ robot_type_id: each }) => each === id) ?? null;
    const text = manifestText({ ...MANIFEST, base, unit }, "x");
    expect(text).toContain(says);
    const { value: manifest } = await readManifest(Buffer.from(fill(text)));
    const arms = manifest?.contract?.action_axes.filter(({ name }) => name.includes("arm."));
    expect(new Set(arms?.map(({ native }) => native?.unit))).toEqual(new Set([unit]));
  });

  test.each([
    ["lerobot.bi-so101-follower.v1", ["left_arm", "right_arm"], "so_follower"],
    ["lerobot.lekiwi.v1", ["arm"], "lekiwi"],
    ["lerobot.so101-follower.v1", ["arm"], "so101_follower"],
  ])("%s in degrees → the ranges of the calibration are the limits", async (id, groups, folder) => {
    const base = CATALOG_ROWS.find(({ robot_type_id: each }) => each === id) ?? null;
    const calibration = readCalibration(lerobotCalibration(folder === "lekiwi" ? "arm_" : ""));
    const ranges = groups.flatMap((group) => rangesOf(armOf(folder), calibration, group) ?? []);
    const text = manifestText({ ...MANIFEST, base, unit: "deg", ranges }, "x");
    const { findings, value: manifest } = await readManifest(Buffer.from(fill(text)));
    expect(findings).toEqual([]);
    const axes = manifest?.contract?.action_axes.filter(({ name }) => name.includes("shoulder_pan"));
    expect(axes?.map(({ range }) => range?.map((end) => Math.round((end * 1800) / Math.PI) / 10))).toEqual(
      groups.map(() => [-79.2, 79.2]),
    );
    expect(manifestText({ ...MANIFEST, base, unit: "calibrated_range", ranges }, "x")).not.toContain("limits: {");
  });

  /** Replaces each placeholder, as the user would. */
  function fill(text: string): string {
    return text
      .replace(/<yourname\.(.*)>/, "acme.$1")
      .replace(/<front.*>/, "front")
      .replace(/<exterior.*>/, "exterior")
      .replaceAll(/<pixels>/g, "640")
      .replace(/<frames.*>/, "60")
      .replaceAll(/<deg or calibrated_range>/g, "calibrated_range");
  }
});

test.each([
  [true, false, ["sudo robot-policy-agent check", expect.stringMatching(/^sudo robot-policy-agent enroll {2}#/)]],
  [
    true,
    true,
    ["sudo robot-policy-agent check", "sudo robot-policy-agent --setup", "sudo systemctl start robot-policy-agent"],
  ],
  [false, true, ["robot-policy-agent check --config ./x", "robot-policy-agent --setup --config ./x"]],
  [
    false,
    false,
    [
      "robot-policy-agent enroll --config ./x  # or, with an API key: robot-policy-agent set-key --config ./x",
      "robot-policy-agent check --config ./x",
      "robot-policy-agent --setup --config ./x",
    ],
  ],
])("stepsHere: standard places %j, credential %j", (isStandard, hasCredential, steps) => {
  expect(stepsHere(isStandard ? "" : " --config ./x", isStandard, hasCredential)).toEqual(steps);
});
