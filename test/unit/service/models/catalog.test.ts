import { readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { renderFindings } from "../../../../src/documents/excerpt.ts";
import { FINDING_LIMIT } from "../../../../src/documents/findings.ts";
import type { SettingsReading } from "../../../../src/documents/read.ts";
import { type Catalog, CHECKPOINT_ID, readCatalog, SLUG } from "../../../../src/service/models/catalog.ts";
import { parseRequirements, printRequirements } from "../../../../src/service/models/requirements.ts";

const EXAMPLE = readFileSync(new URL("../../../../config/models.example.yaml", import.meta.url));

function read(text: string): SettingsReading<Catalog> {
  return readCatalog(Buffer.from(text));
}

/** One model with one checkpoint; `more` contains additional lines of the checkpoint. */
function withCheckpoint(...more: readonly string[]): string {
  const lines = ["models:", "- slug: m", "  checkpoints:", "  - id: ckpt_a", "    created_at: 2026-01-02"];
  const hasEndpoints = more.some((line) => line.startsWith("endpoints:"));
  return [...lines, ...[...more, ...(hasEndpoints ? [] : ["endpoints: []"])].map((line) => `    ${line}`)].join("\n");
}

function withEndpoint(url: string): string {
  return withCheckpoint(`endpoints: [{region: r, url: ${JSON.stringify(url)}}]`);
}

/** Findings as `line:column id`. */
function places({ findings }: SettingsReading<Catalog>): readonly string[] {
  return findings.map(({ line, column, id }) => `${line}:${column} ${id}`);
}

function requirementsOf(text: string) {
  return read(withCheckpoint(`requirements: ${text}`)).value?.models[0]?.checkpoints[0]?.requirements;
}

describe("readCatalog", () => {
  it("example → pi0.5 and models with other requirements", () => {
    const { findings, value: catalog } = readCatalog(EXAMPLE);
    expect(findings).toEqual([]);
    expect(
      catalog?.models.map(({ slug, default_checkpoint_id: defaultCheckpointId }) => [slug, defaultCheckpointId]),
    ).toEqual([
      ["pi0.5", "ckpt_pi05_base"],
      ["smolvla", "ckpt_smolvla_so101"],
      ["act-aloha", "ckpt_act_packing_2"],
    ]);
  });

  it("omitted members → defaults", () => {
    const { findings, value: catalog } = read(
      withCheckpoint("endpoints: [{region: ' us ', url: 'http://gpu:8000/pi/'}]"),
    );
    expect(findings).toEqual([]);
    expect(catalog?.models).toEqual([
      {
        slug: "m",
        display_name: "m",
        vendor: null,
        model_type: null,
        license_tier: null,
        default_checkpoint_id: "ckpt_a",
        checkpoints: [
          {
            id: "ckpt_a",
            created_at: "2026-01-02T00:00:00.000Z",
            requirements: { robot_types: [], camera_roles: [], state_axes: null, action_axes: null },
            endpoints: [{ region: "us", url: "http://gpu:8000/pi", health_url: "http://gpu:8000/pi/health" }],
          },
        ],
      },
    ]);
  });

  it("many mistakes → all findings at once, each with its place", () => {
    const reading = read(`models:
- slug: Pi0.5
  vendors: x
  default_checkpoint: ckpt_bb
  checkpoints:
  - {id: ckpt_a, created_at: yesterday, endpoints: [], x-note: {a: [1]}}
  - id: ckpt_b
    created_at: 2026-02-30
    requirements:
      robot_types: [lerobot.so101-folower.v1, lerobot.so101-folower.v1]
      camera_roles: [Wrist]
      action_axes: {count: 7, minimum_count: 6, units: [deg], names: [arm.joint_1]}
    endpoints:
    - {region: us, url: ftp://gpu}
    - {region: us, url: gpu}
- {slug: m, checkpoints: []}
- {slug: m, checkpoints: [{id: ckpt_b, created_at: 2026-01-01, endpoints: []}]}
modles: []
`);
    expect(reading.value).toBeNull();
    expect(reading.findings.map(({ line, column, id, message }) => `${line}:${column} ${id}: ${message}`))
      .toMatchInlineSnapshot(`
        [
          "2:9 name_format: Pi0.5 is not a slug such as pi0.5: at most 64 lower-case letters, digits and . _ -",
          "3:3 unknown_key: unknown key vendors; did you mean vendor?",
          "4:23 unknown_checkpoint: ckpt_bb is not a checkpoint of this model; did you mean ckpt_b?",
          "6:30 date_format: yesterday is not a date such as 2026-01-31 or 2026-01-31T08:00:00Z",
          "8:17 date_format: 2026-02-30 is not a date such as 2026-01-31 or 2026-01-31T08:00:00Z",
          "10:47 duplicate_name: lerobot.so101-folower.v1 is already used",
          "11:22 name_format: Wrist is not a camera role: lower-case letters, digits and _ only",
          "12:20 not_applicable: count is the exact number; omit minimum_count and maximum_count",
          "12:57 not_allowed: deg is not one of rad, m, rad/s, m/s, N.m, N, 1",
          "12:71 name_format: arm.joint_1 is not the name of an axis such as arm.joint_1.position",
          "14:25 url_format: expected a URL, http://HOST:PORT or https://HOST, without a fragment",
          "15:16 duplicate_name: us is already used",
          "15:25 url_format: expected a URL, http://HOST:PORT or https://HOST, without a fragment",
          "16:26 list_length: expected 1 to 64 items, found 0",
          "17:10 duplicate_name: m is already used",
          "17:32 duplicate_name: ckpt_b is already used",
          "18:1 unknown_key: unknown key modles; did you mean models?",
        ]
      `);
  });

  it("finding → displayed like those of all other files", () => {
    const text = withCheckpoint("endpoint: []");
    const findings = read(text).findings;
    expect(
      renderFindings(findings, { path: "models.yaml", bytes: Buffer.from(text), columns: 80 }).slice(0, 3),
    ).toEqual([
      "models.yaml:6:5: error unknown_key: unknown key endpoint; did you mean endpoints?",
      "        endpoint: []",
      "        ^",
    ]);
  });

  it.each([
    ["", ["1:1 wrong_type"]],
    ["models:", ["1:1 wrong_type"]],
    ["{}", ["1:1 missing"]],
    ["models: {}", ["1:9 wrong_type"]],
    ["models: [1]", ["1:10 wrong_type"]],
    ["models: []", []],
    ["models: []\n---\nmodels: []", ["2:1 yaml_documents"]],
    ["models: &a []", ["1:12 yaml_forbidden"]],
    ["models: []\nmodels: []", ["2:1 yaml_duplicate_key"]],
    ["models: [", ["1:10 yaml_syntax"]],
    ["models: [{}]", ["1:10 missing", "1:10 missing"]],
    ["models: [{slug: m, checkpoints: [{}]}]", ["1:34 missing", "1:34 missing", "1:34 missing"]],
    ["models: []\nx-note: {any: [thing]}", []],
    ["models: [{slug: <name>, checkpoints: []}]", ["1:17 placeholder", "1:38 list_length"]],
  ])("%j → %j", (text, expected) => expect(places(read(text))).toEqual(expected));

  it("every list and text → limited", () => {
    const listed = (count: number, item: (index: number) => string) =>
      `[${Array.from({ length: count }, (_, index) => item(index)).join(", ")}]`;
    const checkpoint = (index: number) => `{id: ckpt_${index}, created_at: 2026-01-01, endpoints: []}`;
    const tooMany = [
      `models: ${listed(257, (index) => `{slug: m${index}, checkpoints: [${checkpoint(index)}]}`)}`,
      `models: [{slug: m, default_checkpoint: ckpt_1, checkpoints: ${listed(65, checkpoint)}}]`,
      withCheckpoint(`endpoints: ${listed(65, (index) => `{region: r${index}, url: http://h}`)}`),
      withCheckpoint(`requirements: {robot_types: ${listed(65, (index) => `acme.r${index}.v1`)}}`),
      withCheckpoint(`requirements: {camera_roles: ${listed(9, (index) => `c${index}`)}}`),
      withCheckpoint(`requirements: {state_axes: {names: ${listed(257, (index) => `a.j${index}.position`)}}}`),
    ];
    for (const text of tooMany) expect(read(text).findings.map(({ id }) => id)).toEqual(["list_length"]);
    const tooLong = [
      [withCheckpoint(`requirements: {state_axes: {count: 257}}`), "out_of_range"],
      [withCheckpoint(`endpoints: [{region: ${"r".repeat(257)}, url: http://h}]`), "text_format"],
      [withEndpoint(`http://h/${"a".repeat(2048)}`), "url_format"],
      [`models: [{slug: ${"m".repeat(65)}, checkpoints: [${checkpoint(1)}]}]`, "name_format"],
      [`models: [{slug: m, vendor: ${"v".repeat(129)}, checkpoints: [${checkpoint(1)}]}]`, "text_format"],
      [`#${" ".repeat(1_048_576)}`, "too_large"],
    ] as const;
    for (const [text, id] of tooLong) expect(read(text).findings.map((finding) => finding.id)).toEqual([id]);
    const mistakes = read(`models: ${listed(256, () => "{a: 1, b: 1, c: 1}")}`);
    expect(mistakes.findings).toHaveLength(FINDING_LIMIT);
  });

  it("any bytes → findings or a catalog", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const { findings, value: catalog } = readCatalog(bytes);
        expect(catalog === null).toBe(findings.some(({ severity }) => severity === "error"));
      }),
    );
  });

  it("any replacement in the example → findings or a catalog", () => {
    const lines = EXAMPLE.toString().split("\n");
    const junk = fc.constantFrom("", "[]", "{}", "~", "1", "true", "- x", "x: y", "'", "{a: [", "\t", "models:");
    fc.assert(
      fc.property(fc.nat(lines.length - 1), fc.constantFrom(0, 2, 4, 8, 10), junk, (index, indent, text) => {
        const { findings, value: catalog } = read(lines.with(index, " ".repeat(indent) + text).join("\n"));
        expect(catalog === null).toBe(findings.some(({ severity }) => severity === "error"));
      }),
    );
  });
});

describe("endpoints of a catalog", () => {
  it.each([
    ["http://gpu", "http://gpu", "http://gpu/health"],
    ["https://GPU.example:443/a/b//", "https://gpu.example/a/b", "https://gpu.example/a/b/health"],
    ["http://[::1]:8000/", "http://[::1]:8000", "http://[::1]:8000/health"],
    ["http://gpu/infer?model=pi", "http://gpu/infer?model=pi", "http://gpu/infer/health"],
  ])("%s → %s, probed at %s", (url, expected, healthUrl) => {
    const { value: catalog } = read(withEndpoint(url));
    expect(catalog?.models[0]?.checkpoints[0]?.endpoints).toEqual([
      { region: "r", url: expected, health_url: healthUrl },
    ]);
  });

  it.each([
    ["gpu:8000", "url_format"],
    ["//gpu", "url_format"],
    ["http:// gpu", "url_format"],
    ["http://gpu\n/", "url_format"],
    [" http://gpu", "url_format"],
    ["http:\\\\gpu", "url_format"],
    ["http://gp\u200bu", "url_format"],
    ["http://gpu:0", "url_format"],
    ["http://gpu:99999", "url_format"],
    ["http://gpu/#part", "url_format"],
    ["ws://gpu", "url_format"],
    ["javascript:alert(1)", "url_format"],
    ["http://user:hunter2@gpu", "secret_in_catalog"],
    ["http://hunter2@gpu", "secret_in_catalog"],
    ["http://gpu/?access_token=hunter2", "secret_in_catalog"],
    ["http://gpu/sk_acme_0123456789abcdefhunter2", "secret_in_catalog"],
  ])("%j → refused: %s", (url, id) => {
    const { findings } = read(withEndpoint(url));
    expect(findings.map((finding) => finding.id)).toEqual([id]);
    expect(JSON.stringify(findings)).not.toContain("hunter2");
  });

  it.each([
    ["model_member: model.id", []],
    ["model_member: data.0.id, model_value: pi05 yam", []],
    ["model_member: model..id", ["name_format"]],
    ["model_value: pi05", ["not_applicable"]],
  ])("%s → %j", (members, ids) => {
    const { findings } = read(withCheckpoint(`endpoints: [{region: r, url: http://gpu, ${members}}]`));
    expect(findings.map(({ id }) => id)).toEqual(ids);
  });

  it("key in a comment → found, too", () => {
    expect(places(read("# sk_acme_0123456789abcdef0\nmodels: []"))).toEqual(["1:3 secret_in_catalog"]);
  });
});

describe("checkpoints of a catalog", () => {
  const dates = (...written: readonly string[]) =>
    read(
      `models: [{slug: m, checkpoints: [${written.map((date, index) => `{id: ckpt_${index}, created_at: ${JSON.stringify(date)}, endpoints: []}`).join(", ")}]}]`,
    );

  it("slug → the newest checkpoint, in any order and time zone", () => {
    const { value: catalog } = dates("2026-01-01T10:00:00+02:00", "2026-01-01T09:00:00Z", "2025-12-31");
    expect(catalog?.models[0]).toMatchObject({
      default_checkpoint_id: "ckpt_1",
      checkpoints: [{ created_at: "2026-01-01T08:00:00.000Z" }, {}, { created_at: "2025-12-31T00:00:00.000Z" }],
    });
  });

  it("two newest checkpoints → default_checkpoint is required", () => {
    expect(dates("2026-01-01", "2026-01-01T00:00:00Z").findings).toMatchObject([
      { id: "missing", loc: "/models/0/default_checkpoint", line: 1, column: 10 },
    ]);
  });

  it.each(["2026-01-01 10:00:00Z", "2026-01-01T10:00:00", "2026-1-1", "20260101", "2026-01-01T25:00:00Z", "0"])(
    "%j → no date",
    (date) => expect(dates(date).findings).toMatchObject([{ id: "date_format" }]),
  );
});

describe("requirements of a catalog", () => {
  it("requirements → kept as written", () => {
    expect(
      requirementsOf("{state_axes: {count: 7, names: [a.b.position]}, action_axes: {minimum_count: 2, units: [m]}}"),
    ).toEqual({
      robot_types: [],
      camera_roles: [],
      state_axes: { minimum_count: 7, maximum_count: 7, units: [], names: ["a.b.position"] },
      action_axes: { minimum_count: 2, maximum_count: null, units: ["m"], names: [] },
    });
  });

  it.each([
    ["{state_axes: {minimum_count: 3, maximum_count: 2}}", "count_order"],
    ["{state_axes: {maximum_count: 1, names: [a.b.position, a.c.position]}}", "count_order"],
    ["{state_axes: {count: 1.5}}", "wrong_type"],
    ["{state_axes: {names: []}}", "list_length"],
    ["{state_axes: [7]}", "wrong_type"],
    ["{axes: 7}", "unknown_key"],
  ])("%s → refused: %s", (text, id) => {
    expect(read(withCheckpoint(`requirements: ${text}`)).findings.map((finding) => finding.id)).toEqual([id]);
  });

  it("custom robot types → accepted", () => {
    expect(read(withCheckpoint("requirements: {robot_types: [acme.arm.v1, 'Arm 7']}")).findings).toEqual([]);
  });

  it("print, parse → inverse; equal requirements → equal text", () => {
    const requirements = requirementsOf("{camera_roles: [top], state_axes: {count: 7}}");
    if (requirements === undefined) throw new Error("no requirements");
    const { robot_types: robotTypes, ...others } = requirements;
    expect(parseRequirements(printRequirements(requirements))).toEqual(requirements);
    expect(printRequirements({ ...others, robot_types: robotTypes })).toBe(printRequirements(requirements));
  });
});

describe("what a checkpoint of a catalog was trained on", () => {
  const trainedOn = (text: string) => read(withCheckpoint(`trained_on: ${text}`));
  const usual = { require: ["axes", "order", "units", "signs", "camera_roles"] };
  const others = ["ranges", "camera_mounts", "camera_sizes", "control_rate", "devices", "files"];

  it.each([
    ["{contracts: [a.json]}", { ...usual, warn: others }],
    [
      "{contracts: [a.json], require: [files]}",
      { require: ["files"], warn: [...usual.require, ...others.slice(0, -1)] },
    ],
    ["{contracts: [a.json], warn: [signs]}", { require: ["axes", "order", "units", "camera_roles"], warn: ["signs"] }],
    ["{contracts: [a.json], require: [], warn: []}", { require: [], warn: [] }],
  ])("%s → the lists that are not written are what is left of the usual", (text, expected) => {
    const { value, findings } = trainedOn(text);
    expect(findings).toEqual([]);
    expect(value?.models[0]?.checkpoints[0]?.trained_on).toMatchObject({
      robots: [],
      contracts: ["a.json"],
      types: [],
      tolerances: {},
      ...expected,
    });
  });

  it.each([
    ["{}", "6:17 missing"],
    ["{robots: []}", "6:17 missing"],
    ["{robots: [{robot: cell-4}]}", "6:27 missing"],
    ["{robots: [{robot: cell-4, digest: 'sha256:b1fd'}]}", "6:51 name_format"],
    ["{contracts: [/etc/a.json]}", "6:30 path_format"],
    ["{contracts: [../a.json]}", "6:30 path_format"],
    ["{types: [yam.v0]}", "6:26 unknown_type"],
    ["{types: [lerobot.so101-follower.v1], warn: [signs], require: [signs]}", "6:61 not_applicable"],
    ["{types: [lerobot.so101-follower.v1], warn: [wheels]}", "6:61 not_allowed"],
    ["{types: [lerobot.so101-follower.v1], tolerances: {deg: 1}}", "6:67 unknown_key"],
    ["{types: [lerobot.so101-follower.v1], tolerances: {rad: -1}}", "6:72 out_of_range"],
  ])("%s → %s", (text, place) => {
    expect(places(trainedOn(text))).toEqual([place]);
  });
});

describe("SLUG, CHECKPOINT_ID", () => {
  it.each([
    ["pi0.5", true, false],
    ["a", true, false],
    ["openvla-7b_v2", true, false],
    ["ckpt_a", false, true],
    ["ckpt_pi05.2026-01", false, true],
    ["ckpt_", false, false],
    ["ckpt-a", true, false],
    ["", false, false],
    [".", false, false],
    ["..", false, false],
    ["-a", false, false],
    ["a.", false, false],
    ["Pi", false, false],
    ["a/b", false, false],
    ["a\n", false, false],
    ["\0", false, false],
    ["é", false, false],
    ["a".repeat(64), true, false],
    ["a".repeat(65), false, false],
    [`ckpt_${"a".repeat(59)}`, false, true],
    [`ckpt_${"a".repeat(60)}`, false, false],
  ])("%j → slug %s, checkpoint id %s", (text, slug, checkpointId) => {
    expect([SLUG.test(text), CHECKPOINT_ID.test(text)]).toEqual([slug, checkpointId]);
  });
});
