import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { configurationSchema, DEFAULTS, readConfiguration } from "../../../src/service/configuration/configuration.ts";
import { defaultsOf } from "../../support/documents/defaults.ts";

const EXAMPLE = readFileSync(new URL("../../../config/service.example.yaml", import.meta.url), "utf8");
const SWITCHED_ON = EXAMPLE.replaceAll(/^# ( *[a-z_]+:(?: .*)?)$/gm, "$1");

const read = (text: string) => readConfiguration(Buffer.from(text));

/** `line:column id message` of each finding. */
function findingsOf(text: string): readonly string[] {
  return read(text).findings.map(({ line, column, id, message }) => `${line}:${column} ${id} ${message}`);
}

describe("readConfiguration", () => {
  it("only the required paths → the defaults", () => {
    expect(read("data: /srv/data\n")).toEqual({
      findings: [],
      value: { ...DEFAULTS, store: { kind: "sqlite", dataDirectory: "/srv/data" } },
      locate: expect.any(Function),
    });
  });

  it("configurationSchema: a file with each default of it → the defaults", () => {
    // A database needs an address.
    const { database: _, ...written } = defaultsOf(configurationSchema());
    expect(Object.keys(written).length).toBeGreaterThan(8);
    expect(read(JSON.stringify(written))).toEqual({ findings: [], value: DEFAULTS, locate: expect.any(Function) });
  });

  it("example file, and with its commented lines → no finding", () => {
    const store = { kind: "sqlite", dataDirectory: "/var/lib/robot-policy-service" };
    expect(read(EXAMPLE).value).toEqual({ ...DEFAULTS, store });
    expect(read(SWITCHED_ON.replace(/^data:.*$/m, ""))).toMatchObject({
      findings: [],
      value: {
        tls: {
          certFile: "/etc/robot-policy-service/tls/cert.pem",
          keyFile: "/etc/robot-policy-service/tls/key.pem",
        },
        trusted_proxies: ["10.0.0.5"],
        store: {
          kind: "postgres-file",
          urlFile: "/run/credentials/robot-policy-service.service/database-url",
        },
        bootstrap_key_file: "/var/lib/robot-policy-service/bootstrap-key",
        models: "/etc/robot-policy-service/models.yaml",
      },
    });
  });

  it("webhooks.allow: hosts, addresses and networks → accepted, anything else → refused", () => {
    const good = ["hooks", "hooks.lab", "10.0.0.1", "10.0.0.0/8", "::1", "fd00::/8"];
    expect(read(JSON.stringify({ webhooks: { allow: good } })).value?.webhooks.allow).toEqual(good);
    const bad = ["https://hooks.lab", "hooks lab", "10.0.0.0/33", "*.lab", "10.0.0.0/8/8", ""];
    expect(read(JSON.stringify({ webhooks: { allow: bad } })).findings).toHaveLength(bad.length);
    const many = (count: number) =>
      JSON.stringify({ webhooks: { allow: Array.from({ length: count }, () => "hooks") } });
    expect(read(many(256)).value?.webhooks.allow).toHaveLength(256);
    expect(findingsOf(many(257))).toEqual(["1:22 list_length expected at most 256 items, found 257"]);
  });

  it("complete document → every member", () => {
    const { value: configuration, findings } = read(`
listen: "[::1]:443"
database:
  url: postgres://robots@db.example.com/robots
rate_limit:
  credential: { per_second: 0.5, burst: 7 }
metrics: false
console: false
log: { level: debug, requests: true }
audit: { retention_days: 7 }
limits: { connections: 500, robots: { key: 12 }, request_timeout_s: 2, keep_alive_timeout_s: 300 }
identity: { credential_ttl_s: 7200, recoveries: 0, copied_key: warn }
x-note: mine
`);
    expect(findings).toEqual([]);
    expect(configuration).toMatchObject({
      listen: { host: "::1", port: 443 },
      store: { kind: "postgres", url: "postgres://robots@db.example.com/robots" },
      rate_limit: { credential: { per_second: 0.5, burst: 7 }, address: { per_second: 10, burst: 300 } },
      metrics: false,
      console: false,
      log: { level: "debug", requests: true },
      audit: { retention_days: 7 },
      limits: {
        connections: 500,
        connectionsOfAddress: 500,
        robots: { key: 12, organization: 1_000_000 },
        headersTimeoutMs: 2000,
        requestTimeoutMs: 2000,
        keepAliveTimeoutMs: 300_000,
        idleTimeoutMs: 300_000,
        drainTimeoutMs: 10_000,
      },
      identity: { codeTtlMs: 600_000, credentialTtlMs: 7_200_000, recoveries: 0, copiedKey: "warn" },
    });
  });

  it("rate_limit: off → no limit", () => {
    expect(read("rate_limit: { enabled: false }\n").value?.rate_limit).toBe("off");
  });

  it.each(["0.0.0.0/0", "0.0.0.0/00", "::/0"])("trusted_proxies: every address, as %s → refused", (network) => {
    expect(findingsOf(`trusted_proxies: ["${network}"]\n`)).toEqual([
      `1:19 not_allowed ${network} matches every address; any client could then claim any address`,
    ]);
  });

  it("many mistakes → all findings at once, each with its place", () => {
    expect(
      findingsOf(`listen: 8080
tls: { cert_file: cert.pem, key: /k.pem }
trusted_proxies: [10.0.0.0/33, 0.0.0.0/0, proxy, 10.0.0.1]
data: relative
log: { level: loud }
limits: { body_bytes: 10, connections: 0 }
rate_limit: { credential: { burst: 0 } }
audit: { keep_forever: true, retention_days: 0 }
identity: { credential_ttl_s: 3600, copied_key: ignore }
prot: 8080
`),
    ).toMatchInlineSnapshot(`
      [
        "1:9 wrong_type expected a text, found a number; write it in quotes",
        "2:6 missing key_file is required",
        "2:19 path_format cert.pem: not absolute; start it with /",
        "2:29 unknown_key unknown key key; write key_file, the path of a PEM file",
        "3:19 address_format 10.0.0.0/33 is not an address or network, such as 10.0.0.1 or 10.0.0.0/8",
        "3:32 not_allowed 0.0.0.0/0 matches every address; any client could then claim any address",
        "3:43 address_format proxy is not an address or network, such as 10.0.0.1 or 10.0.0.0/8",
        "4:7 path_format relative: not absolute; start it with /",
        "5:15 not_allowed loud is not one of debug, info, warn, error, silent",
        "6:11 unknown_key unknown key body_bytes; known here: connections, robots, request_timeout_s, keep_alive_timeout_s, drain_timeout_s",
        "6:40 out_of_range 0 is outside the range: 1 to 1000000",
        "7:36 out_of_range 0 is outside the range: 1 to 10000000",
        "8:10 unknown_key unknown key keep_forever; known here: retention_days",
        "8:46 out_of_range 0 is outside the range: 1 to 36500",
        "9:31 out_of_range 3600 is outside the range: 7200 to 7776000",
        "9:49 not_allowed ignore is not one of freeze, warn",
        "10:1 unknown_key unknown key prot; known here: listen, tls, trusted_proxies, data, database, bootstrap_key_file, models, rate_limit, metrics, console, log, audit, limits, identity, webhooks",
      ]
    `);
  });

  it.each([
    ["a password in the address", "database: { url: 'postgres://u:hunter2@h/d' }", "secret_in_configuration"],
    [
      "a password among its parameters",
      "database: { url: 'postgres://h/d?password=hunter2' }",
      "secret_in_configuration",
    ],
    ["another database", "database: { url: 'mysql://h/hunter2' }", "url_format"],
    ["no database at all", "database: {}", "missing"],
    ["two addresses", "database: { url: 'postgres://h/d', url_file: /f }", "conflict"],
    ["two places", "data: /d\ndatabase: { url: 'postgres://h/d' }", "conflict"],
    ["a key in a comment", "data: /d # sk_rps_0123456789abcdefghijklmnop", "secret_in_configuration"],
    ["a list", "- data", "wrong_type"],
    ["nothing", "", "wrong_type"],
    ["a broken file", "data: [", "yaml_syntax"],
  ])("%s → refused, never repeated", (_what, text, id) => {
    const { findings, value: configuration } = read(text);
    expect(configuration).toBeNull();
    expect(findings.map((finding) => finding.id)).toEqual([id]);
    expect(JSON.stringify(findings)).not.toContain("hunter2");
  });
});
