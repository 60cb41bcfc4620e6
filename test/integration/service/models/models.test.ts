import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, describe, expect, it } from "vitest";

import { systemClock } from "../../../../src/platform/clock.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { createLog } from "../../../../src/service/kernel/log.ts";
import { createMetrics, type Figure } from "../../../../src/service/kernel/metrics.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { addStoreFigures } from "../../../../src/service/figures.ts";
import type { Store, StoreLocation } from "../../../../src/service/kernel/store/store.ts";
import { applyCatalogFile } from "../../../../src/service/models/apply.ts";
import { readCatalogFile } from "../../../../src/service/models/catalog.ts";
import { listModels, resolveSubject } from "../../../../src/service/models/operations.ts";
import { testFolder } from "../../../support/folder.ts";
import { WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";
import { usePostgres } from "../../../support/service/stores.ts";
import { runServiceCommand } from "../../../support/service/service-command.ts";

const EXAMPLE = join(import.meta.dirname, "../../../../config/models.example.yaml");

const machine = {
  clock: systemClock,
  files: systemFiles,
  random: systemRandom,
  log: createLog("silent", { write() {} }),
};
const newId = createIds(machine.clock, machine.random);

let folder: string;
beforeEach(() => void (folder = testFolder("models")));

/** A model with one checkpoint in region us. */
function model(slug: string, more = ""): string {
  return `{slug: ${slug}, checkpoints: [{id: ckpt_${slug}, created_at: 2026-01-01, ${more} endpoints: [{region: us, url: http://${slug}.lab.example}]}]}`;
}

function yaml(...models: readonly string[]): string {
  return `models: [${models.join(", ")}]`;
}

async function writeCatalog(text: string): Promise<string> {
  const path = join(folder, `${newId("aud")}.yaml`);
  await writeFile(path, text);
  return path;
}

async function applyFile(store: Store, path: string) {
  const reading = await readCatalogFile(systemFiles, path);
  if (reading.state === "refused") throw new Error(JSON.stringify(reading.findings));
  return applyCatalogFile({ store, newId, machine }, reading.file);
}

async function apply(store: Store, ...models: readonly string[]) {
  return applyFile(store, await writeCatalog(yaml(...models)));
}

async function slugs(store: Store): Promise<readonly string[]> {
  return (await listModels(store.reader)).map(({ slug }) => slug);
}

async function findModel(store: Store, wanted: string) {
  return (await listModels(store.reader)).find(({ slug }) => slug === wanted);
}

async function auditEntries(store: Store) {
  const entries = await store.reader.selectFrom("audit_log").selectAll().orderBy("id").execute();
  return entries.map(({ organization_id: organizationId, actor, action, details }) => ({
    organization_id: organizationId,
    actor,
    action,
    details,
  }));
}

/** The figure of the metrics. */
async function countEndpoints(store: Store) {
  const figures: Figure[] = [];
  const addFigure = (figure: Figure) => void figures.push(figure);
  addStoreFigures(store.reader, { ...createMetrics(), addFigure }, machine.clock, 0);
  return figures.find(({ name }) => name === "endpoints")?.count();
}

describe("on SQLite", () => onStore(async () => ({ kind: "sqlite", dataDirectory: folder })));

describe.skipIf(WITHOUT_POSTGRES)("on PostgreSQL", { tags: "needs/postgres" }, () => {
  onStore(usePostgres().withSchema);
});

function onStore(locate: () => Promise<StoreLocation>): void {
  it("apply → models are offered, and slugs and checkpoints resolve", async () => {
    await using store = await openStore(await locate(), machine);
    expect(await slugs(store)).toEqual([]);
    await applyFile(store, EXAMPLE);
    expect(await slugs(store)).toEqual(["act-aloha", "pi0.5", "smolvla"]);
    const pi = await findModel(store, "pi0.5");
    expect(pi?.checkpoints.map(({ id, endpoints }) => [id, endpoints.map(({ region }) => region)])).toEqual([
      ["ckpt_pi05_base", ["us-west-2"]],
      ["ckpt_pi05_droid", ["eu-central-1", "us-west-2"]],
    ]);
    const subjects = ["pi0.5", "ckpt_pi05_droid", "act-aloha", "none", "ckpt_none", "PI0.5", "", "\0", "' or 1=1"];
    const resolved = await Promise.all(subjects.map((subject) => resolveSubject(store.reader, subject)));
    expect(resolved).toEqual([
      { model_slug: "pi0.5", checkpoint_id: "ckpt_pi05_base" },
      { model_slug: "pi0.5", checkpoint_id: "ckpt_pi05_droid" },
      { model_slug: "act-aloha", checkpoint_id: "ckpt_act_packing_2" },
      ...Array.from({ length: 6 }, () => undefined),
    ]);
    const inWrite = await store.write((transaction) => resolveSubject(transaction, "pi0.5"));
    expect(inWrite).toEqual(resolved[0]);
  });

  it("apply → one audit entry; the same catalog again → none", async () => {
    await using store = await openStore(await locate(), machine);
    await apply(store, model("a"), model("b"));
    await apply(store, model("a"), model("b"));
    await apply(store, model("a", "requirements: {camera_roles: [top]},"));
    const entry = { organization_id: null, actor: "command", action: "models.apply" };
    expect(await auditEntries(store)).toEqual([
      { ...entry, details: '{"added":6,"changed":0,"withdrawn":0}' },
      { ...entry, details: '{"added":0,"changed":1,"withdrawn":2}' },
    ]);
    const { applied_at: appliedAt } = await store.reader.selectFrom("catalogs").selectAll().executeTakeFirstOrThrow();
    expect(appliedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it("model removed → withdrawn but kept; added again → first created_at", async () => {
    await using store = await openStore(await locate(), machine);
    const inEurope = model("a").replace("region: us", "region: eu");
    await apply(store, inEurope, model("b"));
    const before = await findModel(store, "a");
    await apply(store, model("b"));
    expect(await slugs(store)).toEqual(["b"]);
    expect(await findModel(store, "a")).toBeUndefined();
    expect(await resolveSubject(store.reader, "a")).toBeUndefined();
    expect(await resolveSubject(store.reader, "ckpt_a")).toBeUndefined();
    const kept = await store.reader.selectFrom("checkpoints").select("id").where("id", "=", "ckpt_a").execute();
    expect(kept).toHaveLength(1);
    expect(await countEndpoints(store)).toEqual([{ kind: "unknown", count: 1 }]);
    await apply(store, inEurope);
    expect(await findModel(store, "a")).toEqual(before);
  });

  it("checkpoint moved to another model → the whole catalog is refused", async () => {
    await using store = await openStore(await locate(), machine);
    await apply(store, model("a"), model("b"));
    const outcome = await apply(store, model("c"), model("b").replace("ckpt_b", "ckpt_a"));
    expect(outcome).toMatchObject({
      state: "refused",
      findings: [{ id: "checkpoint_moved", loc: "/models/1/checkpoints/0/id", line: 1 }],
    });
    expect(await slugs(store)).toEqual(["a", "b"]);
    expect(await auditEntries(store)).toHaveLength(1);
  });

  it("two catalogs applied concurrently → one of them is offered, complete", async () => {
    const location = await locate();
    await using one = await openStore(location, machine);
    await using other = await openStore(location, machine);
    for (let round = 0; round < 10; round += 1) {
      const left = ["l1", "l2", "both"].map((name) => `${name}-${round}`);
      const right = ["both", "r1", "r2"].map((name) => `${name}-${round}`);
      await Promise.all([
        apply(one, ...left.map((slug) => model(slug))),
        apply(other, ...right.map((slug) => model(slug))),
      ]);
      const offered = (await slugs(one)).toSorted();
      expect([left.toSorted(), right.toSorted()]).toContainEqual(offered);
    }
  });

  it("applied while the result of a probe is written → the result is not lost", async () => {
    const location = await locate();
    await using one = await openStore(location, machine);
    await using other = await openStore(location, machine);
    await apply(one, model("a"));
    for (let round = 0; round < 10; round += 1) {
      const moved = `http://gpu-${round}, health_url: http://a.lab.example/health`;
      const reason = `answered ${500 + round}`;
      await Promise.all([
        apply(one, model("a").replace("http://a.lab.example", moved)),
        other.write((transaction) => transaction.updateTable("endpoints").set({ last_error: reason }).execute()),
      ]);
      const endpoints = (await findModel(one, "a"))?.checkpoints[0]?.endpoints;
      expect(endpoints).toMatchObject([{ url: `http://gpu-${round}`, last_error: reason }]);
    }
  });

  it("same catalog applied concurrently → one change", async () => {
    const location = await locate();
    await using one = await openStore(location, machine);
    await using other = await openStore(location, machine);
    await Promise.all(
      Array.from({ length: 8 }, (_, index) => apply(index % 2 === 0 ? one : other, model("a"), model("b"))),
    );
    expect(await slugs(one)).toEqual(["a", "b"]);
    expect(await auditEntries(one)).toHaveLength(1);
  });
}

describe("models apply", () => {
  async function run(...argv: readonly string[]) {
    const { code, stdout, stderr } = await runServiceCommand("models", ...argv);
    return { exitCode: code, output: (stdout + stderr).replaceAll(folder, "FOLDER") };
  }

  async function makeStore(): Promise<void> {
    await using _ = await openStore({ kind: "sqlite", dataDirectory: folder }, machine);
  }

  it("apply --dry-run → the planned changes; apply → the changes", async () => {
    await makeStore();
    const path = await writeCatalog(yaml(model("a")));
    const changes = ["+ model a", "+ checkpoint ckpt_a", "+ endpoint ckpt_a in us"];
    const counts = "3 added, 0 changed, 0 withdrawn";
    expect(await run("apply", path, "--data", folder, "--dry-run")).toEqual({
      exitCode: 0,
      output: `${[...changes, `would apply: ${counts}`].join("\n")}\n`,
    });
    expect(await run("apply", path, "--data", folder)).toEqual({
      exitCode: 0,
      output: `${[...changes, `applied: ${counts}`].join("\n")}\n`,
    });
  });

  it("invalid catalog → errors with their positions, nothing is applied", async () => {
    await makeStore();
    const path = await writeCatalog("models:\n- slug: Pi\n  checkpoints: []\n");
    const { exitCode, output } = await run("apply", path, "--data", folder);
    expect(exitCode).toBe(3);
    expect(output.replace(path.replace(folder, "FOLDER"), "models.yaml")).toMatch(
      /^models\.yaml:2:9: error name_format: .*\n {4}- slug: Pi\n {12}\^\n.*:3:16: error list_length: /,
    );
    const json = await run("apply", path, "--data", folder, "--json");
    expect(JSON.parse(json.output)).toMatchObject({
      applied: false,
      changes: [],
      findings: [{ line: 2 }, { line: 3 }],
    });
  });

  it.each([
    ["a missing file", ["apply", "/nowhere/models.yaml", "--data", "/nowhere"], 3, "file_missing"],
    ["a folder", ["apply", "/", "--data", "/nowhere"], 3, "it is not a regular file"],
  ])("%s → an error with a remedy", async (_, argv, exitCode, text) => {
    const ended = await run(...argv);
    expect(ended).toMatchObject({ exitCode, output: expect.stringContaining(text) });
  });
});
