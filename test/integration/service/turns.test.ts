import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";

import { expect, it, onTestFinished } from "vitest";

import { createReconcileDeployments } from "../../../src/service/deployments/reconcile-deployments.ts";
import { createIds } from "../../../src/service/ids.ts";
import { NO_REQUIREMENTS, printRequirements } from "../../../src/service/models/requirements.ts";
import { createReconcileFleets } from "../../../src/service/readiness/reconcile-fleets.ts";
import { openStore } from "../../../src/service/store/store.ts";
import type { Store } from "../../../src/service/store/store.ts";
import type { Task } from "../../../src/service/task.ts";
import { createUsageClock } from "../../../src/service/usage/usage-clock.ts";
import { testMachine } from "../../support/machine.ts";
import { memoryFolder } from "../../support/memory.ts";

/** Whoever sleeps lets others in anyway; here nobody does. */
const machine = { ...testMachine, clock: { ...testMachine.clock, sleep: () => Promise.resolve() } };
const newId = createIds(testMachine.clock, testMachine.random);
const NOW = "2026-06-01T12:00:00.000Z";
const ROBOTS = 1200;
const FLEETS = 20;

/** A store on SQLite, which answers every query at once. */
async function open(): Promise<Store> {
  const folder = await mkdtemp(join(memoryFolder, "turns-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = await openStore({ kind: "sqlite", data_directory: folder }, testMachine);
  onTestFinished(() => store[Symbol.asyncDispose]());
  const organization_id = newId("org");
  const health = { health: "healthy", contrary_probes: 0, health_since: NOW, last_probed_at: NOW } as const;
  const robots = Array.from({ length: ROBOTS }, (_, index) => ({ id: newId("rob"), name: `r${index}` }));
  await store.write(async (transaction) => {
    await transaction.insertInto("organizations").values({ id: organization_id, name: "o", created_at: NOW }).execute();
    // The second is for robots that this organization does not have.
    for (const [slug, robot_types] of Object.entries({ a: [], b: ["other"] })) {
      const checkpoint_id = `ckpt_${slug}`;
      await transaction
        .insertInto("models")
        .values({ slug, display_name: slug, default_checkpoint_id: checkpoint_id, created_at: NOW })
        .execute();
      const requirements = printRequirements({ ...NO_REQUIREMENTS, robot_types });
      await transaction
        .insertInto("checkpoints")
        .values({ id: checkpoint_id, model_slug: slug, requirements, created_at: NOW })
        .execute();
      const url = "http://127.0.0.1:1";
      await transaction
        .insertInto("endpoints")
        .values({ checkpoint_id, region: "r", url, health_url: url, next_probe_at: NOW, ...health })
        .execute();
    }
    for (const { id, name } of robots) {
      const row = { id, name, organization_id, robot_type_id: "t", region: "r", labels: "{}", view: "{}" };
      const times = { created_at: NOW, updated_at: NOW, refitted_at: NOW, changed_at: NOW };
      await transaction
        .insertInto("robots")
        .values({ ...row, ...times, configuration_digest: "", recent_changes: "[]" })
        .execute();
      const deployment = { id: newId("dep"), organization_id, robot_id: id, region: "r", status: "active" } as const;
      const model = { model_slug: "a", checkpoint_id: "ckpt_a", generation_id: newId("gen") };
      await transaction
        .insertInto("deployments")
        .values({ ...deployment, ...model, created_at: NOW, activated_at: NOW })
        .execute();
    }
    for (let index = 0; index < FLEETS; index += 1) {
      const [fleet_id, generation_id, update_generation_id] = [newId("fleet"), newId("gen"), newId("gen")];
      const fleet = {
        id: fleet_id,
        organization_id,
        name: `f${index}`,
        peak_active_robots: 1,
        operating_windows: "[]",
      };
      await transaction
        .insertInto("fleets")
        .values({ ...fleet, readiness_mode: "always_ready", generation_id, update_generation_id, created_at: NOW })
        .execute();
      await transaction
        .insertInto("generations")
        .values([
          { id: generation_id, fleet_id, subject: "a", checkpoint_id: "ckpt_a", created_at: NOW, activated_at: NOW },
          { id: update_generation_id, fleet_id, subject: "b", checkpoint_id: "ckpt_b", created_at: NOW },
        ])
        .execute();
      const robot_id = robots[index]?.id ?? "";
      await transaction.insertInto("fleet_members").values({ fleet_id, robot_id }).execute();
    }
  });
  return store;
}

/** How often others had their turn while the task ran. */
async function turnsOf(task: Task): Promise<number> {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await task.run(new AbortController().signal);
  isOver = true;
  return turns;
}

it.each([
  ["reconcile-deployments, for each few hundred of them", createReconcileDeployments, Math.ceil(ROBOTS / 500)],
  ["reconcile-fleets, for each that has an update waiting", createReconcileFleets, FLEETS],
])("%s: requests have their turn", async (_name, create, least) => {
  const store = await open();
  const usageClock = createUsageClock(machine);
  const task = create({ store, newId, machine, usageClock, nudge() {} }, 1000);
  expect(await turnsOf(task)).toBeGreaterThanOrEqual(least);
});

it("reconcile-deployments: one that cannot be judged does not keep the others, and is told of once", async () => {
  const store = await open();
  await store.write(async (transaction) => {
    await transaction.updateTable("deployments").set({ status: "preparing" }).execute();
    const { id } = await transaction.selectFrom("deployments").select("id").orderBy("id").executeTakeFirstOrThrow();
    await transaction.updateTable("deployments").set({ checkpoint_id: "ckpt_b" }).where("id", "=", id).execute();
    await transaction.updateTable("checkpoints").set({ requirements: "[" }).where("id", "=", "ckpt_b").execute();
  });
  const log = createLogbook();
  const context = { store, newId, machine: { ...machine, log }, usageClock: createUsageClock(machine) };
  const task = createReconcileDeployments(context);
  for (let run = 0; run < 3; run += 1) await task.run(new AbortController().signal);
  const rows = await store.reader.selectFrom("deployments").select("status").orderBy("id").execute();
  expect(rows.map(({ status }) => status)).toEqual([
    "preparing",
    ...Array.from({ length: ROBOTS - 1 }, () => "active"),
  ]);
  expect(log.errors).toEqual(["task_item_failed"]);
});

it("reconcile-fleets: one that cannot be judged does not keep the others, and is told of once", async () => {
  const store = await open();
  await store.write(async (transaction) => {
    const requirements = printRequirements(NO_REQUIREMENTS);
    await transaction.updateTable("checkpoints").set({ requirements }).where("id", "=", "ckpt_b").execute();
    await transaction.updateTable("fleets").set({ operating_windows: "{}" }).where("name", "=", "f0").execute();
  });
  const log = createLogbook();
  const task = createReconcileFleets({ store, newId, machine: { ...machine, log }, nudge() {} }, 1000);
  for (let run = 0; run < 3; run += 1) await task.run(new AbortController().signal);
  const waiting = store.reader.selectFrom("fleets").select("name").where("update_generation_id", "is not", null);
  expect(await waiting.execute()).toEqual([{ name: "f0" }]);
  expect(log.errors).toEqual(["task_item_failed"]);
});

/** What was logged as an error. */
function createLogbook() {
  const errors: string[] = [];
  return { ...testMachine.log, error: (event: string) => void errors.push(event), errors };
}
