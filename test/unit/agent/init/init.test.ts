import { readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { readConfiguration } from "../../../../src/agent/configuration/configuration.ts";
import { configurationText } from "../../../../src/agent/init/configuration-text.ts";
import { extendedManifestText, manifestText } from "../../../../src/agent/init/manifest-text.ts";
import { stepsHere } from "../../../../src/agent/init/next-steps.ts";
import { yamlText } from "../../../../src/agent/init/yaml-text.ts";
import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";
import { loadCatalog } from "../../../../src/manifest/catalog/load-catalog.ts";
import { readManifest } from "../../../../src/manifest/manifest.ts";

const EXAMPLE = {
  url: "https://policy.example.com",
  region: "us-west-2",
  key_file: "/etc/robot-policy-agent/api-key",
  ca_file: null,
  allow_insecure: false,
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
    [/"<\[\[low, high\], …\] for 6 joints>"/g, "[[-1, 1], [-1, 1], [-1, 1], [-1, 1], [-1, 1], [-1, 1]]"],
  ];

  test.each(await loadCatalog())(
    "extendedManifestText: base $robot_type_id → only findings about placeholders",
    async (base) => {
      const text = extendedManifestText({ base, files: [{ label: null, path: "/etc/robot.yaml" }] }, "x");
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

  function asGlobal({ source }: RegExp): RegExp {
    return new RegExp(source, "g");
  }
});
