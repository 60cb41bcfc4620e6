/** @module-tag needs/program */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";

import { apiKeyCreatedSchema, apiKeyListSchema } from "../../../../src/api/keys.ts";
import { API_KEY_PREFIX, isToken } from "../../../../src/service/kernel/auth/token.ts";
import { testFolder } from "../../../support/folder.ts";
import { memoryFolder } from "../../../support/memory.ts";
import { type Ran, runServiceCommand, storeFlags } from "../../../support/service/service-command.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";
import { startServe } from "../service-process.ts";

const auditSchema = z.object({
  items: z.array(z.object({ actor: z.object({ id: z.string() }), action: z.string(), subject_id: z.string() })),
});

const organizationsSchema = z.object({ items: z.array(z.object({ name: z.string() })) });

interface Site {
  /** Flags that locate the store. */
  readonly where: readonly string[];
  /** Runs a command beside the service. */
  run(...argv: readonly string[]): Promise<Ran>;
  /** Creates a key with this one, over the API. */
  make(key: string): Promise<string>;
  status(key: string): Promise<number>;
  /** The document at a path of the API. */
  read(key: string, path: string): Promise<unknown>;
}

/** A service in its own process, as in production, and its store. */
async function openSite(newStore: NewStore, resources: AsyncDisposableStack): Promise<Site> {
  const folder = await mkdtemp(join(memoryFolder, "orgs-"));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const where = storeFlags(await newStore());
  const keyFile = join(folder, "key");
  const service = await startServe(keyFile, ...where);
  resources.defer(() => service.kill());
  const { url, key } = service;
  expect(isToken(API_KEY_PREFIX, key)).toBe(true);
  return {
    where,
    run: (...command) => runServiceCommand(...command, ...where),
    async make(credential) {
      const headers = { authorization: `Bearer ${credential}`, "content-type": "application/json" };
      const body = JSON.stringify({ label: "made over the network" });
      const made = await fetch(`${url}/v1/me/api-keys`, { method: "POST", headers, body });
      return apiKeyCreatedSchema.parse(await made.json()).api_key;
    },
    async read(credential, path) {
      return (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${credential}` } })).json();
    },
    async status(credential) {
      return (await fetch(`${url}/v1/robots`, { headers: { authorization: `Bearer ${credential}` } })).status;
    },
  };
}

describeOnEachStore("robot-policy-service orgs and keys, beside a running service", (newStore) => {
  const resources = new AsyncDisposableStack();
  let site: Site;
  beforeAll(async () => {
    site = await openSite(newStore, resources);
  });
  afterAll(() => resources.disposeAsync());

  it("--config → the store of the service, so that no password is in the process list", async () => {
    const { where, status } = site;
    const folder = testFolder("orgs-config");
    const [flag, place = ""] = where;
    const config = join(folder, "config.yaml");
    await writeFile(join(folder, "url"), `${place}\n`);
    await writeFile(config, flag === "--data" ? `data: ${place}\n` : `database: {url_file: ${join(folder, "url")}}\n`);
    const made = await runServiceCommand(
      "keys",
      "create",
      "--label",
      "by file",
      "--org",
      "default",
      "--config",
      config,
    );
    expect(made).toMatchObject({ code: 0 });
    expect(await status(made.stdout.trim())).toBe(200);

    await writeFile(config, "dta: /srv\n");
    const refused = await runServiceCommand("orgs", "list", "--config", config);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain(`${config}:1:1: error unknown_key`);
  });

  it("orgs create, keys create → the key works at once; keys revoke → refused at once", async () => {
    const { run, status, read } = site;
    const made = await run("orgs", "create", "second lab");
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^org_[0-9a-z]{26}\n$/)]);
    const organizationId = made.stdout.trim();
    const created = await run("keys", "create", "--label", "arm 3", "--org", "second lab", "--expires", "1d");
    const key = created.stdout.trim();
    expect([created.code, created.stdout]).toEqual([0, `${key}\n`]);
    expect(isToken(API_KEY_PREFIX, key)).toBe(true);
    expect(created.stderr).toContain("may do everything until");
    expect(created.stderr).not.toContain(key.slice(0, 20));
    expect(await status(key)).toBe(200);

    const [item] = apiKeyListSchema.parse(await read(key, "/v1/me/api-keys")).items;
    expect(item).toMatchObject({ label: "arm 3", key_last4: key.slice(-4), scopes: null, revoked_at: null });

    const revoked = await run("keys", "revoke", item?.id ?? "");
    expect([revoked.code, revoked.stdout]).toEqual([0, ""]);
    expect(revoked.stderr).toContain(
      `No key of its organization may do everything any more. Create one: robot-policy-service keys create --label TEXT --org ${organizationId}`,
    );
    expect(await status(key)).toBe(401);
    expect((await run("keys", "revoke", item?.id ?? "")).code).toBe(0);

    const other = (await run("keys", "create", "--label", "auditor", "--org", organizationId)).stdout.trim();
    const audit = auditSchema.parse(await read(other, "/v1/me/audit"));
    const own = audit.items
      .filter(
        ({ actor, subject_id: subjectId }) => actor.id === "command" && [item?.id, organizationId].includes(subjectId),
      )
      .map(({ action, subject_id: subjectId }) => [action, subjectId]);
    expect(own.sort()).toEqual([
      ["api_key.create", item?.id],
      ["api_key.revoke", item?.id],
      ["organization.create", organizationId],
    ]);
    expect(JSON.stringify(audit)).not.toContain(key.slice(0, 20));
  });

  it("keys revoke, key with descendants → refused; with --yes → all are revoked", async () => {
    const { run, status } = site;
    const parent = JSON.parse((await run("keys", "create", "--label", "parent", "--org", "default", "--json")).stdout);
    const child = await site.make(parent.api_key);
    const refused = await run("keys", "revoke", parent.id);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining("revoking this key also ends 1 key made with it"),
    ]);
    expect([await status(parent.api_key), await status(child)]).toEqual([200, 200]);
    const revoked = await run("keys", "revoke", parent.id, "--yes");
    expect([revoked.code, revoked.stderr]).toEqual([0, expect.stringContaining("(parent), and 1 key made with it.")]);
    expect([await status(parent.api_key), await status(child)]).toEqual([401, 401]);
  });

  it("keys create --scope --json → the scopes, and no others", async () => {
    const { run, status } = site;
    const argv = [
      "keys",
      "create",
      "--json",
      "--org",
      "default",
      "--label",
      "watcher",
      "--scope",
      "fleets:read",
      "--scope",
      "models:read",
    ];
    const made = await run(...argv);
    const { id, api_key: apiKey, scopes } = apiKeyCreatedSchema.parse(JSON.parse(made.stdout));
    expect(scopes).toEqual(["fleets:read", "models:read"]);
    // If stdout is lost, the key can still be revoked by its id.
    expect(made.stderr).toContain(`robot-policy-service keys revoke ${id}`);
    expect(await status(apiKey)).toBe(403);
  });

  it("invalid arguments → an error that names them, and no change", async () => {
    const { run, where } = site;
    const [flag = "", place = ""] = where;
    const pasted = `${flag} ${place.replace(/:[^:/@]+@/, ":PASSWORD@")}`;
    await run("orgs", "create", "taken");
    const names = async () => {
      const { stdout } = await run("orgs", "list", "--json");
      return organizationsSchema.parse(JSON.parse(stdout)).items.map(({ name }) => name);
    };
    const before = await names();
    expect(before).toEqual(expect.arrayContaining(["default", "taken"]));
    const label = ["--label", "x"];
    const table: readonly (readonly [argv: readonly string[], code: number, message: string])[] = [
      [["orgs", "create", "taken"], 7, "organization-exists"],
      [["orgs", "create", ""], 2, "organization-name-invalid"],
      [["orgs", "create", "a\u202eb"], 2, "organization-name-invalid"],
      [["orgs", "create", "x".repeat(129)], 2, "organization-name-invalid"],
      [["orgs", "create"], 2, "name"],
      [["keys", "create", ...label], 1, "organization-ambiguous"],
      [["keys", "create", ...label, "--org", "nobody"], 1, `robot-policy-service orgs list ${pasted}\n`],
      [["keys", "create", ...label, "--org", "taken", "--scope", "root"], 2, "a key cannot have this scope"],
      [["keys", "create", ...label, "--org", "taken", "--scope", "robots:read,fleets:read"], 2, "repeat the flag"],
      [["keys", "create", ...label, "--org", "taken", "--expires", "yesterday"], 2, "not a time in the next 100 years"],
      [
        ["keys", "create", ...label, "--org", "taken", "--expires", "2020-01-31"],
        2,
        "not a time in the next 100 years",
      ],
      [["keys", "create", "--label", "", "--org", "taken"], 2, "a label has"],
      [["keys", "create", "--org", "taken"], 2, "--label"],
      [["keys", "revoke", "key_00000000000000000000000000"], 1, "robot-policy keys list\n"],
    ];
    const outcomes = await Promise.all(table.map(([argv]) => run(...argv)));
    for (const [index, [argv, code, message]] of table.entries()) {
      const { stdout, stderr, ...ended } = outcomes[index] ?? { code: -1, stdout: "", stderr: "" };
      expect([argv, ended.code, stdout]).toEqual([argv, code, ""]);
      expect(stderr).toContain(message);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
    expect(await names()).toEqual(before);
  });
});
