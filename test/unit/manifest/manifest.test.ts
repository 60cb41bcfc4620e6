import { readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { FINDING_LIMIT } from "../../../src/documents/findings.ts";
import type { SettingsReading } from "../../../src/documents/read.ts";
import { readManifest, type RobotManifest } from "../../../src/manifest/manifest.ts";
import { times } from "../../support/run/tier.ts";

type Reading = SettingsReading<RobotManifest>;

const YAM = "robot_type_id: yam.bimanual-joint-position.v1\n";
const KEY = "sk_acme_0123456789abcdefXYZ";

describe("readManifest", () => {
  test("readManifest: example of a type by id", async () => {
    const bytes = readFileSync(new URL("../../golden/robot-manifest/examples/yam.yaml", import.meta.url));
    expect(await readManifest(bytes)).toMatchObject({
      findings: [],
      value: {
        robot_type_id: "yam.bimanual-joint-position.v1",
        display_name: null,
        status: "ready",
        configuration_files: [
          {
            label: "/opt/yam/configs/yam_left.yaml",
            path: "/opt/yam/configs/yam_left.yaml",
            loc: "/configuration_files/0",
          },
          {
            label: "/opt/yam/configs/yam_right.yaml",
            path: "/opt/yam/configs/yam_right.yaml",
            loc: "/configuration_files/1",
          },
        ],
        contract: null,
      },
    });
  });

  test("readManifest: all optional members → normalized", async () => {
    const { findings, value: manifest } = await read(
      `schema: robot-manifest/v1\n${YAM}display_name: "  cafe\u0301 "\nstatus: ready\nx-note: {a: [1, ~]}\n` +
        "configuration_files: [{label: ' left ', path: ~/left.yaml, x-by: me}, /b//c/./d.yaml]\n",
    );
    expect(findings).toEqual([]);
    expect(manifest).toMatchObject({
      display_name: "café",
      configuration_files: [
        { label: "left", path: "~/left.yaml", loc: "/configuration_files/0/path" },
        { label: "/b//c/./d.yaml", path: "/b//c/./d.yaml", loc: "/configuration_files/1" },
      ],
    });
  });

  test("scenario 29: manifest with many mistakes → all findings at once, with line and column", async () => {
    const { findings, value: manifest } = await read(
      "robot_type: yam.v1\nstatus: redy\ndisplay_name: 7\nregion: us-west-2\n" +
        "configuration_files:\n  - {label: arm, path: /opt/a.yaml}\n  - {label: arm, path: opt/b.yaml, mode: 1}\n  - /opt/./a.yaml\n",
    );
    expect(manifest).toBeNull();
    expect(summary(findings)).toEqual([
      "1:1 error missing /robot_type_id: robot_type_id is required",
      "1:1 error unknown_key /robot_type: unknown key robot_type; did you mean robot_type_id?",
      "2:9 error not_allowed /status: redy is not one of draft, ready; did you mean ready?",
      "3:15 error wrong_type /display_name: expected a text, found a number; write it in quotes",
      "4:1 error unknown_key /region: unknown key region; robot.region belongs to the agent's configuration, config.yaml",
      "7:13 error duplicate_name /configuration_files/1/label: arm is already used",
      "7:24 error config_path /configuration_files/1/path: opt/b.yaml: not absolute; start it with / or ~/",
      "7:36 error unknown_key /configuration_files/1/mode: unknown key mode; known here: label, path, device, interface, by, share",
      "8:5 error config_duplicate /configuration_files/2: /opt/./a.yaml is already listed",
    ]);
  });

  test.each([
    ["a list at the root", "- a\n", ["1:1 wrong_type "]],
    ["nothing", "", ["1:1 wrong_type "]],
    ["an empty value", `${YAM}display_name:\nconfiguration_files: [/a]\n`, ["2:1 wrong_type /display_name"]],
    ["an empty list item", `${YAM}configuration_files:\n  - /a\n  -\n`, ["3:3 wrong_type /configuration_files/1"]],
    [
      "a boolean in capitals",
      `${YAM}status: NO\n`,
      ["1:1 no_config_files /configuration_files", "2:9 not_allowed /status"],
    ],
    [
      "a type id that is too long",
      `robot_type_id: a.${"b".repeat(256)}.v1\nconfiguration_files: [/a]\n`,
      ["1:16 type_id_format /robot_type_id"],
    ],
    [
      "a display name that is too long",
      `${YAM}display_name: ${"é".repeat(129)}\nconfiguration_files: [/a]\n`,
      ["2:15 text_format /display_name"],
    ],
    [
      "a type that is only a base",
      "robot_type_id: ur.ur5e-2f85.v1\nconfiguration_files: [/a]\n",
      ["1:16 type_id_unlisted /robot_type_id"],
    ],
    ["a draft", `${YAM}status: draft\nconfiguration_files: [/a]\n`, ["2:9 status_draft /status"]],
    [
      "a column after emoji",
      `${YAM}configuration_files: [/🦾🦾, /b/, "é/c"]\n`,
      ["2:28 config_path /configuration_files/1", "2:33 config_path /configuration_files/2"],
    ],
    [
      "a pointer with special characters",
      `${YAM}"a/b~c": 1\nconfiguration_files: [/a]\n`,
      ["2:1 unknown_key /a~1b~0c"],
    ],
    ["a deep value", `${YAM}x-a: ${"[".repeat(33)}${"]".repeat(33)}\n`, [`2:38 too_deep /x-a${"/0".repeat(32)}`]],
    ["a bottomless value", `${YAM}x-a: ${"[".repeat(5000)}\n`, [`2:38 too_deep /x-a${"/0".repeat(32)}`]],
    [
      "a custom type with a secret",
      `${YAM}configuration_files: [/a]\ngroups: [{token: 1}]\ntopology: single_arm\n`,
      ["3:10 missing /groups/0/name", "3:11 secret_in_manifest /groups/0/token"],
    ],
  ])("readManifest: %s", async (_, text, expected) => {
    expect((await read(text)).findings.map(({ line, column, id, loc }) => `${line}:${column} ${id} ${loc}`)).toEqual(
      expected,
    );
  });

  test.each([
    "arm.yaml",
    "./a",
    "~user/a",
    "$HOME/a",
    "/a*/b.yaml",
    "/opt/../etc/a",
    "/opt/..",
    "/dev/video0",
    "//proc/./cpuinfo",
    "/sys/x",
    "/",
    "/opt/",
    "~/",
    "/a\u0007",
    "/a\u202Eb",
    "/a\\uD800",
    `/${"a".repeat(4096)}`,
  ])("readManifest: %j as a configuration file → refused", async (path) => {
    const written = JSON.stringify(path).replace("\\\\uD800", "\\uD800");
    expect(ids(await read(`${YAM}configuration_files: [${written}]\n`))).toEqual(["config_path"]);
  });

  test.each([
    "/a",
    "~/a",
    "/opt/a b.yaml",
    "/opt/..a",
    "/devices/a",
    "/a/*.yaml",
    "/a?",
    "/é/🦾",
    "/.hidden",
    `/${"a".repeat(4095)}`,
  ])("readManifest: %j as a configuration file → accepted", async (path) => {
    expect(ids(await read(`${YAM}configuration_files: [${JSON.stringify(path)}]\n`))).toEqual([]);
  });

  test.each([
    "/a/arm.log",
    "/a/cached_cloud_config_1.json",
    "/a/norm_stats.json",
    "/a/dataset_statistics.json",
    "/a/.env",
    "/a/id_rsa",
    "/a/id_ed25519",
    "/a/id_ecdsa",
    "/a/b.pem",
    "/a/b.key",
  ])("readManifest: %j as a configuration file → warning, it does not suit the digest", async (path) => {
    const reading = await read(`${YAM}configuration_files: [${path}]\n`);
    expect(ids(reading)).toEqual(["config_unsuitable"]);
    expect(reading.value?.configuration_files).toHaveLength(1);
  });

  test.each([
    ["a file", `${YAM}configuration_files: [/a, "x ${KEY}"]\n`],
    ["a key", `${YAM}? ${KEY}\n: 1\n`],
    ["an unknown key that holds one", `${YAM}"a ${KEY}": 1\n`],
    ["an escaped value", `${YAM}display_name: "\\x73k_acme_0123456789abcdefXYZ"\n`],
    ["a private key", `${YAM}x-a: |\n  -----BEGIN RSA PRIVATE KEY-----\n  0123456789abcdefXYZ\n`],
  ])("scenario 16: secret as %s → finding that does not repeat it", async (_, text) => {
    const reading = await read(text);
    expect(ids(reading)).toContain("secret_in_manifest");
    expect(reading.value).toBeNull();
    expect(JSON.stringify(reading.findings)).not.toContain("0123456789abcdef");
  });

  test("scenario 16: API key as a mapping key → never in a message", async () => {
    const { findings } = await read(`${YAM}${KEY}: 1\n${KEY}: 2\n`);
    expect(ids({ findings })).toEqual(["yaml_duplicate_key"]);
    expect(JSON.stringify(findings)).not.toContain("0123456789abcdef");
  });

  test.each(["apiToken", "API_KEY", "hf-token", "wifi.password", "Bearer", "my secret"])(
    "readManifest: key %j → counts as a secret",
    async (key) => {
      expect(ids(await read(`${YAM}x-a: {${key}: 1}\nconfiguration_files: [/a]\n`))).toEqual(["secret_in_manifest"]);
    },
  );

  test.each(["tokens", "tokenizer", "secretary", "keyboard", "passwords_file"])(
    "readManifest: key %j → no secret",
    async (key) => {
      expect(ids(await read(`${YAM}x-a: {${key}: 1}\nconfiguration_files: [/a]\n`))).toEqual([]);
    },
  );

  test.each(["replace_me", "REPLACE-WITH-PATH", " TODO ", "tbd: ask", "change_me", "ChangeMe", "<path>", "fixme!"])(
    "readManifest: placeholder %j → error, in a draft warning",
    async (value) => {
      const text = `${YAM}display_name: ${JSON.stringify(value)}\nconfiguration_files: [/a]\n`;
      expect((await read(text)).findings).toMatchObject([{ id: "placeholder", severity: "error" }]);
      const draft = await read(`status: draft\n${text}`);
      expect(draft.findings.map(({ id, severity }) => [id, severity])).toEqual([
        ["status_draft", "warning"],
        ["placeholder", "warning"],
      ]);
      expect(draft.value).toBeNull();
    },
  );

  test("readManifest: many findings → limited", async () => {
    const { findings } = await read(Array.from({ length: 5000 }, (_, index) => `key${index}: 1\n`).join(""));
    expect(findings).toHaveLength(FINDING_LIMIT + 1);
  });

  test("readManifest: invisible characters → escaped in messages", async () => {
    const { findings } = await read(`${YAM}"a\\e[31m\\u202e": 1\nconfiguration_files: [/a]\n`);
    expect(findings[0]?.message).toContain(String.raw`unknown key a\u001b[31m\u202e;`);
  });
});

describe("locate", async () => {
  const { locate } = await read(`${YAM}configuration_files:\n  - /a\n  - {label: b, path: /b}\nx-empty:\n`);
  test.each([
    ["", 1, 1],
    ["/robot_type_id", 1, 16],
    ["/configuration_files", 3, 3],
    ["/configuration_files/0", 3, 5],
    ["/configuration_files/1/path", 4, 22],
    ["/configuration_files/1/missing", 4, 5],
    ["/configuration_files/7", 3, 3],
    ["/missing/deeper", 1, 1],
    ["/x-empty", 5, 1],
    ["no pointer", 1, 1],
  ])("locate: %j → %i:%i", async (loc, line, column) => {
    expect(locate(loc)).toEqual({ line, column });
  });
});

describe("hostile manifests", () => {
  const base = `schema: robot-manifest/v1\n${YAM}display_name: "é 🦾"\nstatus: draft\nconfiguration_files:\n  - /a\n  - {label: b, path: ~/b}\n`;
  const mutation = fc.record({
    at: fc.nat({ max: base.length }),
    remove: fc.nat({ max: 8 }),
    insert: fc.oneof(
      fc.string({ unit: "binary", maxLength: 6 }),
      fc.constantFrom(
        "\n",
        "  ",
        "\t",
        ": ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "'",
        '"',
        "|",
        "&a ",
        "*a",
        "!t ",
        "\uFEFF",
        "\r\n",
        "---\n",
        "#",
        KEY,
        "<<: ",
      ),
    ),
  });

  test("readManifest: any mutation → read or refused, positions inside the file", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 5 }), async (mutations) => {
        const text = mutations.reduce(
          (text, { at, remove, insert }) => text.slice(0, at) + insert + text.slice(at + remove),
          base,
        );
        const reading = await read(text);
        expectInside(reading, Buffer.from(text));
      }),
      { numRuns: times(400, 5000) },
    );
  });
});

function read(text: string): Promise<Reading> {
  return readManifest(Buffer.from(text));
}

function ids({ findings }: Pick<Reading, "findings">): readonly string[] {
  return findings.map(({ id }) => id).filter((id) => id !== "no_config_files");
}

function summary(findings: Reading["findings"]): readonly string[] {
  return findings.map(
    ({ line, column, severity, id, loc, message }) => `${line}:${column} ${severity} ${id} ${loc}: ${message}`,
  );
}

function expectInside({ findings, value: manifest, locate }: Reading, bytes: Uint8Array): void {
  const lines = new TextDecoder().decode(bytes).split("\n");
  for (const { line, column, loc, message } of [...findings, { ...locate("/status"), loc: "", message: "" }]) {
    expect(line).toBeGreaterThanOrEqual(1);
    expect(line).toBeLessThanOrEqual(lines.length);
    expect(column).toBeGreaterThanOrEqual(1);
    expect(column).toBeLessThanOrEqual([...(lines[line - 1] ?? "")].length + 1);
    expect(message.length).toBeLessThan(500);
    expect(message + loc).not.toContain(KEY);
  }
  const hasError = findings.some(({ severity }) => severity === "error");
  if (hasError) expect(manifest).toBeNull();
  expect(findings).toEqual(findings.toSorted((a, b) => a.line - b.line || a.column - b.column));
}
