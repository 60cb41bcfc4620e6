import { readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { readConfiguration } from "../../../../src/agent/configuration/configuration.ts";
import { configurationText } from "../../../../src/agent/init/configuration-text.ts";
import { extendedManifestText, manifestText } from "../../../../src/agent/init/manifest-text.ts";
import { stepsHere } from "../../../../src/agent/init/next-steps.ts";
import { yamlText } from "../../../../src/agent/init/yaml-text.ts";
import { TYPE_HINTS } from "../../../../src/manifest/catalog/hints.ts";
import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";
import { loadCatalog } from "../../../../src/manifest/catalog/load-catalog.ts";
import { readManifest } from "../../../../src/manifest/manifest.ts";

const EXAMPLE = {
  url: "https://policy.example.com",
  region: "us-west-2",
  key_file: "/etc/robot-policy-agent/api-key",
  ca_file: null,
  allow_insecure: false,
  proxy: null,
  enrolment_key_file: null,
  name: "{hostname}",
  site: "plant-1",
  labels: { line: "4", cell: "packing" },
  needsHome: false,
};

function example(name: string): string {
  return readFileSync(new URL(`../../../../config/${name}`, import.meta.url), "utf8");
}

function hint(name: string): string {
  return `Copy to /etc/robot-policy-agent/${name}, then: robot-policy-agent check`;
}

describe("configurationText", () => {
  test("configurationText: example robot → config/config.example.yaml", async () => {
    expect(configurationText(EXAMPLE, hint("config.yaml"))).toBe(example("config.example.yaml"));
  });

  test("configurationText: any answers → read back unchanged", async () => {
    const anyText = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((text) => isPrintable(text));
    fc.assert(
      fc.property(anyText, anyText, anyText, anyText, (region, site, label, value) => {
        const text = configurationText({ ...EXAMPLE, region, site, labels: { [label]: value } }, hint("config.yaml"));
        const { robot } = parse(text) as { robot: object };
        expect(robot).toMatchObject({ region, site, labels: { [label]: value } });
      }),
    );
  });

  test("configurationText: missing answers → only findings about placeholders", async () => {
    const text = configurationText({ ...EXAMPLE, url: null, region: null, site: null, labels: {} }, "x");
    const { findings } = readConfiguration(Buffer.from(text), { path: "/etc/robot-policy-agent/config.yaml" });
    expect(findings.map(({ id, loc }) => [id, loc])).toEqual([
      ["placeholder", "/service/url"],
      ["placeholder", "/robot/region"],
    ]);
  });
});

test("stepsHere: a path with a space → in quotes", () => {
  expect(stepsHere("/tmp/my robot/config.yaml", false, true)).toEqual([
    "robot-policy-agent check --config '/tmp/my robot/config.yaml'",
    "robot-policy-agent --setup --config '/tmp/my robot/config.yaml'",
  ]);
});

describe("manifestText", () => {
  test("manifestText: example robot → config/robot-manifest.example.yaml", async () => {
    const answers = {
      robotTypeId: "yam.bimanual-joint-position.v1",
      displayName: "Packing cell, two YAM arms",
      files: [
        { label: null, path: "/opt/yam/configs/yam_left.yaml" },
        { label: null, path: "/opt/yam/configs/yam_right.yaml" },
        { label: "camera names", path: "/etc/udev/rules.d/90-yam-cameras.rules" },
      ],
    };
    expect(manifestText(answers, hint("robot-manifest.yaml"))).toBe(example("robot-manifest.example.yaml"));
  });

  test.each([
    [[], ["status_draft", "no_config_files"]],
    [["/opt/a b/c: d #e.yaml", "~/x.json"], []],
  ])("manifestText: files %j → findings %j", async (paths, ids) => {
    const files = paths.map((path) => ({ label: null, path }));
    const text = manifestText({ robotTypeId: "yam.bimanual-joint-position.v1", displayName: null, files }, "x");
    const { findings, manifest } = await readManifest(Buffer.from(text), READY_CATALOG);
    expect(findings.map(({ id }) => id)).toEqual(ids);
    expect(manifest?.configuration_files.map(({ path }) => path)).toEqual(paths);
  });
});

test("manifestText: a LeRobot type by its id → says which unit that means", () => {
  const text = manifestText({ robotTypeId: "lerobot.so101-follower.v1", displayName: null, files: [] }, "x");
  expect(text).toContain(
    "# Its joints are in degrees: LeRobot 0.4.4 and newer, and older ones with --robot.use_degrees=true.\n",
  );
});

test("configurationText: proxy and key for enrolments → written, and the robot enrolls", () => {
  const answers = { ...EXAMPLE, proxy: "http://proxy.example:3128", enrolment_key_file: "/boot/enrolment-key" };
  const { service } = parse(configurationText(answers, "x")) as { service: object };
  expect(service).toMatchObject({
    proxy: "http://proxy.example:3128",
    enrolment_key_file: "/boot/enrolment-key",
    identity: "enrolled",
  });
});

test("TYPE_HINTS: of every type, and of no other", () => {
  expect([...TYPE_HINTS.keys()]).toEqual([...READY_CATALOG.keys()]);
});

describe("yamlText", () => {
  test.each([
    ["policy", "policy"],
    ["https://policy.example.com:8443/prefix", "https://policy.example.com:8443/prefix"],
    ["/opt/yam/left.yaml", "/opt/yam/left.yaml"],
    ["no", '"no"'],
    ["null", '"null"'],
    ["~", '"~"'],
    ["4", '"4"'],
    ["{hostname}", '"{hostname}"'],
    ["a: b", '"a: b"'],
    ["a #b", '"a #b"'],
    ["a:", '"a:"'],
    ["", '""'],
  ])("yamlText: %j → %s", async (text, written) => {
    expect(yamlText(text)).toBe(written);
  });

  test("yamlText: any text → YAML reads it back", async () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(parse(`key: ${yamlText(text)}\n`)).toEqual({ key: text });
      }),
    );
  });
});

function isPrintable(text: string): boolean {
  return text.trim() === text && !/\p{Cc}/u.test(text);
}

describe("extendedManifestText", async () => {
  /** Replaces each placeholder, as the user would. */
  const answers: readonly (readonly [RegExp, string])[] = [
    [/"<yourname\.(.*)>"/, "acme.$1"],
    [/"<front.*>"/, "front"],
    [/"<exterior.*>"/, "exterior"],
    [/"<pixels>"/g, "640"],
    [/"<frames.*>"/, "60"],
    [/"<deg or calibrated_range>"/g, "calibrated_range"],
  ];

  test.each(await loadCatalog())(
    "extendedManifestText: base $robot_type_id → only findings about placeholders",
    async (base) => {
      const text = extendedManifestText({ base, unit: null, files: [{ label: null, path: "/etc/robot.yaml" }] }, "x");
      const { findings } = await readManifest(Buffer.from(text), READY_CATALOG);
      expect(new Set(findings.map(({ id, severity }) => `${severity} ${id}`))).toEqual(new Set(["error placeholder"]));
      const filled = answers.reduce(
        (before, [placeholder, answer]) => before.replaceAll(asGlobal(placeholder), answer),
        text,
      );
      const reading = await readManifest(Buffer.from(filled), READY_CATALOG);
      // DROID's full scale exceeds the limits of its arm.
      expect(reading.findings.filter(({ id }) => id !== "full_scale_over_limit")).toEqual([]);
      expect(reading.manifest?.contract?.robot_type_id).toMatch(/^acme\./);
      expect(filled).not.toContain('"<');
    },
  );

  test.each([
    ["lerobot.lekiwi.v1", "deg", "0.6.0 and newer, and older ones with --robot.use_degrees=true"],
    ["lerobot.lekiwi.v1", "calibrated_range", "before 0.6.0, and newer ones with --robot.use_degrees=false"],
    ["lerobot.bi-so101-follower.v1", "calibrated_range", "before 0.4.4"],
  ] as const)(
    "extendedManifestText: %s in %s → both units are explained, and this one is written",
    async (id, unit, says) => {
      const base = (await loadCatalog()).find(({ robot_type_id: each }) => each === id);
      if (base === undefined) throw new Error(id);
      const text = extendedManifestText({ base, unit, files: [{ label: null, path: "/a" }] }, "x");
      expect(text).toContain(says);
      const filled = answers.reduce((before, [from, to]) => before.replaceAll(asGlobal(from), to), text);
      const { manifest } = await readManifest(Buffer.from(filled), READY_CATALOG);
      const arms = manifest?.contract?.action_axes.filter(({ name }) => name.includes("arm."));
      expect(new Set(arms?.map(({ native }) => native?.unit))).toEqual(new Set([unit]));
    },
  );

  test.each(["lerobot.lekiwi.v1", "droid.franka-panda.v1"])(
    "extendedManifestText: %s without files → its usual places",
    async (id) => {
      const base = (await loadCatalog()).find(({ robot_type_id: each }) => each === id);
      if (base === undefined) throw new Error(id);
      const text = extendedManifestText({ base, unit: null, files: [] }, "x");
      expect(text).not.toContain("/yam");
      for (const path of TYPE_HINTS.get(id)?.files ?? []) expect(text).toContain(`#   - ${path}\n`);
    },
  );

  function asGlobal({ source }: RegExp): RegExp {
    return new RegExp(source, "g");
  }
});
