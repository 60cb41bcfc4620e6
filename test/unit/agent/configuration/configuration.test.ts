import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

import type { SettingsReading } from "../../../../src/documents/read.ts";
import {
  type AgentConfiguration,
  configurationSchema,
  expandName,
  readConfiguration,
} from "../../../../src/agent/configuration/configuration.ts";

const KEY = "sk_acme_0123456789abcdefXYZ";
const SERVICE = "service: {url: https://policy.example.com}\n";
const ROBOT = "robot: {region: us-west-2}\n";
const MINIMAL = SERVICE + ROBOT;
/** A configuration with additional members in a section. */
const robot = (members: string) => `${SERVICE}robot: {region: a, ${members}}\n`;
const service = (members: string) => `${ROBOT}service: {url: https://a, ${members}}\n`;

describe("readConfiguration", () => {
  test("readConfiguration: minimal document → every default", async () => {
    const { findings, value: configuration } = read(MINIMAL);
    expect(findings).toEqual([]);
    expect(configuration).toEqual({
      service: {
        url: "https://policy.example.com",
        key_file: null,
        identity: "key",
        enrolment_key_file: null,
        organization_id: null,
        heartbeat_s: 30,
        ca_file: null,
        proxy: null,
        allow_insecure: false,
        connect_timeout_s: 10,
        headers_timeout_s: 15,
        request_timeout_s: 30,
      },
      robot: { name: "{hostname}", region: "us-west-2", site: null, labels: {}, home: null },
      manifest: "/etc/robot-policy-agent/robot-manifest.yaml",
      watch: { settle_ms: 500, resync_s: 60, poll_s: 5, file_limit_bytes: 1_073_741_824 },
      log: { level: "info", format: "json" },
    });
  });

  test("readConfiguration: complete document → every member", async () => {
    const { findings, value: configuration } = read(`
service:
  url: https://policy.example.com:8443/robots/
  key_file: /run/key
  identity: enrolled
  enrolment_key_file: /run/enrolment-key
  organization_id: org_1
  heartbeat_s: 60
  ca_file: /etc/ca.pem
  proxy: http://me:secret@proxy:3128
  allow_insecure: false
  connect_timeout_s: 1
  headers_timeout_s: 1.5
  request_timeout_s: 300
robot:
  name: "cell-{machine_id}"
  region: "  eu "
  site: Werk Süd
  labels: {line: "4", x-own: ""}
  home: /home/robot
manifest: /srv/manifest.yaml
watch: {settle_ms: 0, resync_s: 5, poll_s: 1, file_limit_bytes: 64e3}
log: {level: debug, format: text}
x-note: whatever
`);
    expect(findings).toEqual([]);
    expect(configuration).toEqual({
      service: {
        url: "https://policy.example.com:8443/robots",
        key_file: "/run/key",
        identity: "enrolled",
        enrolment_key_file: "/run/enrolment-key",
        organization_id: "org_1",
        heartbeat_s: 60,
        ca_file: "/etc/ca.pem",
        proxy: "http://me:secret@proxy:3128",
        allow_insecure: false,
        connect_timeout_s: 1,
        headers_timeout_s: 1.5,
        request_timeout_s: 300,
      },
      robot: {
        name: "cell-{machine_id}",
        region: "eu",
        site: "Werk Süd",
        labels: { line: "4", "x-own": "" },
        home: "/home/robot",
      },
      manifest: "/srv/manifest.yaml",
      watch: { settle_ms: 0, resync_s: 5, poll_s: 1, file_limit_bytes: 64_000 },
      log: { level: "debug", format: "text" },
    });
  });

  test("scenario 29: configuration with many mistakes → all findings at once, with line and column", async () => {
    const { findings, value: configuration } = read(
      "sevice:\n  url: http://policy.example.com\nrobot:\n  name: '{host}'\n  regoin: us\n  labels:\n    line: 4\nwatch:\n" +
        "  settle_ms: fast\n  resync_s: 0x10\nlog: {level: verbose}\nservice:\n  url: http://policy.example.com\n  key_file: ~/key\n",
    );
    expect(configuration).toBeNull();
    expect(findings.map(({ line, column, id, loc, message }) => `${line}:${column} ${id} ${loc}: ${message}`)).toEqual([
      "1:1 unknown_key /sevice: unknown key sevice; did you mean service?",
      "4:3 missing /robot/region: region is required",
      "4:9 name_template /robot/name: {host} is no placeholder; use {hostname} or {machine_id}",
      "5:3 unknown_key /robot/regoin: unknown key regoin; did you mean region?",
      "7:11 wrong_type /robot/labels/line: expected a text, found a number; write it in quotes",
      "9:14 wrong_type /watch/settle_ms: expected a number, found a text",
      "10:13 number_format /watch/resync_s: write 0x10 as a plain decimal number",
      "11:14 not_allowed /log/level: verbose is not one of debug, info, warn, error",
      "13:8 insecure_url /service/url: service address would send the API key unencrypted; use https, or set service.allow_insecure",
      "14:13 path_format /service/key_file: ~/key: not absolute; start it with /",
    ]);
  });

  test.each([
    ["nothing", "", "wrong_type ", "1:1"],
    ["no service", ROBOT, "missing /service", "1:1"],
    ["no robot", SERVICE, "missing /robot", "1:1"],
    [
      "a part of a timeout longer than the total",
      service("request_timeout_s: 5, headers_timeout_s: 6"),
      "timeout_order /service/headers_timeout_s",
      "2:68",
    ],
    ["plain http to another machine", `${ROBOT}service: {url: http://10.0.0.1}\n`, "insecure_url /service/url", "2:16"],
    [
      "a password in the address",
      `${ROBOT}service: {url: https://me:pw@a}\n`,
      "secret_in_configuration /service/url",
      "2:16",
    ],
    ["a query in the address", `${ROBOT}service: {url: https://a/?b}\n`, "url_format /service/url", "2:16"],
    ["a fragment in the address", `${ROBOT}service: {url: "https://a/#b"}\n`, "url_format /service/url", "2:16"],
    ["no address", `${ROBOT}service: {url: policy.example.com}\n`, "url_format /service/url", "2:16"],
    ["a proxy with an unsupported scheme", service("proxy: socks5://b"), "url_format /service/proxy", "2:34"],
    ["an empty proxy", service(`proxy: ""`), "url_format /service/proxy", "2:34"],
    ["a relative path", `${MINIMAL}manifest: robot.yaml\n`, "path_format /manifest", "3:11"],
    ["a path with NUL", `${MINIMAL}manifest: "/a\\0"\n`, "path_format /manifest", "3:11"],
    ["a name that is too long", robot(`name: ${"n".repeat(65)}`), "text_format /robot/name", "2:26"],
    ["an unmatched brace", robot(`name: "a}b"`), "name_template /robot/name", "2:26"],
    [
      "a region that is too long",
      `${SERVICE}robot: {region: ${"e".repeat(257)}}\n`,
      "text_format /robot/region",
      "2:17",
    ],
    ["a site that is too long", robot(`site: ${"🦾".repeat(129)}`), "text_format /robot/site", "2:26"],
    ...["https://user:pw@x", "eu central", "-eu", "eu:1", "Zürich"].map((region): [string, string, string, string] => [
      `the region ${region}`,
      `${SERVICE}robot: {region: "${region}"}\n`,
      "region_format /robot/region",
      "2:17",
    ]),
    [
      "an address with a password as site",
      robot("site: https://user:pw@x/y"),
      "secret_in_configuration /robot/site",
      "2:26",
    ],
    [
      "an address with a password as label",
      robot("labels: {k: https://user@x}"),
      "secret_in_configuration /robot/labels/k",
      "2:32",
    ],
    [
      "an address with a password as name",
      robot(`name: "https://user:pw@x"`),
      "secret_in_configuration /robot/name",
      "2:26",
    ],
    ["a region left to fill in", `${SERVICE}robot: {region: <region>}\n`, "placeholder /robot/region", "2:17"],
    [
      "a label name that is too long",
      robot(`labels: {${"k".repeat(65)}: v}`),
      `text_format /robot/labels/${"k".repeat(65)}`,
      "2:29",
    ],
    ["a label that is too long", robot(`labels: {k: ${"v".repeat(257)}}`), "text_format /robot/labels/k", "2:32"],
    [
      "a label set twice by two spellings",
      robot(`labels: {"é": v, "e\u0301": v}`),
      "duplicate_name /robot/labels/e\u0301",
      "2:37",
    ],
    [
      "33 labels",
      `${SERVICE}robot: {region: a, labels: {${Array.from({ length: 33 }, (_, i) => `k${i}: v`).join(", ")}}}\n`,
      "list_length /robot/labels",
      "2:28",
    ],
  ])("readConfiguration: %s", async (_, text, finding, place) => {
    const { findings, value: configuration } = read(text);
    expect(findings.map(({ message }) => message).join()).not.toContain("pw@");
    expect(findings.map(({ id, loc }) => `${id} ${loc}`)).toContain(finding);
    expect(findings.map(({ line, column }) => `${line}:${column}`)).toContain(place);
    expect(findings).toHaveLength(1);
    expect(configuration).toBeNull();
  });

  test("readConfiguration: a home with a slash at its end → says to leave it out", () => {
    expect(read(robot("home: /home/ana/")).findings).toMatchObject([
      { id: "path_format", loc: "/robot/home", message: "/home/ana/: leave out the / at its end" },
    ]);
  });

  test.each(["http://localhost:8080", "http://127.0.0.1:8080/a", "http://[::1]:8080", "https://10.0.0.1"])(
    "readConfiguration: %s → no finding",
    async (url) => {
      expect(read(`${ROBOT}service: {url: "${url}"}\n`)).toMatchObject({
        findings: [],
        value: { service: { url } },
      });
    },
  );

  test("readConfiguration: allowed plain http to another machine → warning", async () => {
    const { findings, value: configuration } = read(`${ROBOT}service: {url: http://10.0.0.1, allow_insecure: true}\n`);
    expect(findings).toMatchObject([{ id: "unencrypted_service", severity: "warning", loc: "/service/url" }]);
    expect(configuration?.service.allow_insecure).toBe(true);
  });

  test("readConfiguration: short total timeout → limits the defaults of its parts", async () => {
    const { value: configuration } = read(service("request_timeout_s: 5"));
    expect(configuration?.service).toMatchObject({ connect_timeout_s: 5, headers_timeout_s: 5, request_timeout_s: 5 });
  });

  test.each([
    ["the name", robot(`name: "${KEY}"`)],
    ["the address", `${ROBOT}service: {url: "https://a/${KEY}"}\n`],
    ["a comment", `${MINIMAL}# ${KEY}\n`],
    ["a label's name", robot(`labels: {${KEY}: a}`)],
    ["a password", service("password: 0123456789abcdef")],
  ])("scenario 16: a secret as %s → error that does not repeat it", async (_, text) => {
    const { findings, value: configuration } = read(text);
    expect(findings.map(({ id }) => id)).toContain("secret_in_configuration");
    expect(JSON.stringify(findings)).not.toContain("0123456789abcdef");
    expect(configuration).toBeNull();
  });

  test("locate: pointer of a refused member → its line and column", async () => {
    const { locate } = read(`${SERVICE}robot:\n  region: us\n  labels:\n    a/b: c\n`);
    expect(locate("/robot/region")).toEqual({ line: 3, column: 11 });
    expect(locate("/robot/labels/a~1b")).toEqual({ line: 5, column: 10 });
    expect(locate("/robot/site")).toEqual({ line: 3, column: 3 });
  });
});

describe("expandName", () => {
  const facts = { hostname: "cell-3", machineId: "0123456789ab" };
  test.each([
    ["{hostname}", "cell-3"],
    ["{hostname}-{machine_id}", "cell-3-0123456789ab"],
    ["arm", "arm"],
    ["{hostname}{hostname}", "cell-3cell-3"],
  ])("expandName: %s → %s", async (template, name) => {
    expect(expandName(template, facts)).toBe(name);
  });

  test("expandName: placeholder in an inserted value → not expanded", async () => {
    expect(expandName("{hostname}", { hostname: "{machine_id}$&", machineId: "0" })).toBe("{machine_id}$&");
  });
});

describe("configurationSchema", () => {
  const schema = configurationSchema();
  const validator = z.fromJSONSchema(schema);

  test.each([
    MINIMAL,
    `${MINIMAL}watch: {settle_ms: 0, resync_s: 3600, poll_s: 1.5, file_limit_bytes: 1}\nmanifest: /a\n`,
    robot(`name: "a-{hostname}", site: b, labels: {c: d, x-e: ""}, home: /f`),
    `${ROBOT}service: {url: http://127.0.0.1:80/a, key_file: /k, ca_file: /c, proxy: none, allow_insecure: true, connect_timeout_s: 1}\n`,
    ROBOT,
    `${MINIMAL}foo: 1\n`,
    `${MINIMAL}watch: {settle_ms: 60001}\n`,
    `${MINIMAL}watch: {settle_ms: 0.5}\n`,
    `${MINIMAL}log: {level: all}\n`,
    `${MINIMAL}manifest: a\n`,
    `${SERVICE}robot: {region: ""}\n`,
    robot(`name: "{foo}"`),
    robot("labels: {b: 1}"),
    robot(`labels: {${"k".repeat(65)}: v}`),
    `${ROBOT}service: {url: "https://a/?b"}\n`,
    `${ROBOT}service: {url: "https://me@a/"}\n`,
    service(`proxy: ""`),
  ])("configurationSchema: %j → agrees with the reader", async (text) => {
    const isValid = read(text).value !== null;
    expect(validator.safeParse(parse(text)).success).toBe(isValid);
  });

  test("configurationSchema: keys, defaults and descriptions → those of the reader", async () => {
    const described = describeSchema(schema);
    expect(described.every(({ description }) => description !== undefined)).toBe(true);
    const { value: configuration } = read(MINIMAL);
    for (const { path, default: standard } of described.filter(({ default: standard }) => standard !== undefined)) {
      expect([
        path,
        path.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], configuration),
      ]).toEqual([path, standard]);
    }
    const keys = described.map(({ path }) => path.join("."));
    const sections = Object.entries(configuration ?? {}).filter(([, value]) => typeof value === "object");
    const members = sections.flatMap(([key, value]) => Object.keys(value).map((member) => `${key}.${member}`));
    members.push(...Object.keys(configuration ?? {}));
    expect(keys.toSorted()).toEqual(members.toSorted());
  });
});

describe("examples", () => {
  test("config.example.yaml: no finding; commented lines show the defaults", () => {
    const text = readFileSync(new URL("../../../../config/config.example.yaml", import.meta.url), "utf8");
    const reading = read(text);
    expect(reading.findings).toEqual([]);
    const switchedOn = text
      .replaceAll(/^( *)# ?((?:  )?[a-z_]+:(?: .*)?)$/gm, "$1$2")
      .replaceAll(/^( *)#(   ?[a-z_]+: )/gm, "$1$2");
    expect(switchedOn).toContain("\n  settle_ms: 500");
    const on = read(switchedOn);
    expect(on.findings).toEqual([]);
    const withoutDefault = {
      enrolment_key_file: "/var/lib/robot-policy-agent/enrolment-key",
      organization_id: "org_0123456789abcdefghijklmnop",
      ca_file: "/etc/ssl/certs/factory-ca.pem",
      proxy: "http://proxy.factory.example:3128",
    };
    expect(on.value).toEqual({
      ...reading.value,
      service: { ...reading.value?.service, ...withoutDefault },
      robot: { ...reading.value?.robot, home: "/home/robot" },
    });
  });
});

interface Described {
  readonly path: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
}

function describeSchema(schema: Readonly<Record<string, unknown>>, path: readonly string[] = []): readonly Described[] {
  const described: Described[] = [];
  for (const [key, property] of Object.entries(
    (schema["properties"] ?? {}) as Record<string, Record<string, unknown>>,
  )) {
    const below = [...path, key];
    described.push({ path: below, description: property["description"] as string, default: property["default"] });
    described.push(...describeSchema(property, below));
  }
  return described;
}

function read(text: string): SettingsReading<AgentConfiguration> {
  return readConfiguration(Buffer.from(text), "/etc/robot-policy-agent/config.yaml");
}
