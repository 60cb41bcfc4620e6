import { expect, it, onTestFinished } from "vitest";

import { createReconcileDeployments } from "../../../../src/service/deployments/tasks.ts";
import { createReconcileFleets } from "../../../../src/service/fleets/tasks.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import type { Task } from "../../../../src/service/kernel/tasks/task-loop.ts";
import { NO_REQUIREMENTS, printRequirements } from "../../../../src/service/models/requirements.ts";
import { testFolder } from "../../../support/folder.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { endpointRow, fleetRow, insertModel, robotRow } from "../../../support/service/rows.ts";

/** Sleeping would let other work run anyway, so sleeps return at once. */
const machine = { ...testMachine, clock: { ...testMachine.clock, sleep: () => Promise.resolve() } };
const newId = createIds(testMachine.clock, testMachine.random);
const NOW = "2026-06-01T12:00:00.000Z";
const ROBOTS = 1200;
const FLEETS = 20;

/** A store on SQLite, where every query resolves at once. */
async function open(): Promise<Store> {
  const folder = testFolder("turns");
  const store = await openStore({ kind: "sqlite", dataDirectory: folder }, testMachine);
  onTestFinished(() => store[Symbol.asyncDispose]());
  const organizationId = newId("org");
  const health = { health: "healthy", contrary_probes: 0, health_since: NOW, last_probed_at: NOW } as const;
  const robots = Array.from({ length: ROBOTS }, (_, index) => ({ id: newId("rob"), name: `r${index}` }));
  await store.write(async (transaction) => {
    await transaction.insertInto("organizations").values({ id: organizationId, name: "o", created_at: NOW }).execute();
    // The second model supports only robot types that this organization does not have.
    for (const [slug, robotTypes] of Object.entries({ a: [], b: ["other"] })) {
      const checkpointId = `ckpt_${slug}`;
      await insertModel(transaction, { slug, id: checkpointId, requirements: { robot_types: robotTypes } });
      const row = endpointRow({ checkpoint_id: checkpointId, region: "r", next_probe_at: NOW, ...health });
      await transaction.insertInto("endpoints").values(row).execute();
    }
    for (const { id, name } of robots) {
      await transaction
        .insertInto("robots")
        .values(robotRow({ id, name, organization_id: organizationId }))
        .execute();
      const deployment = {
        id: newId("dep"),
        organization_id: organizationId,
        robot_id: id,
        region: "r",
        status: "active",
      } as const;
      const model = { model_slug: "a", checkpoint_id: "ckpt_a", generation_id: newId("gen") };
      await transaction
        .insertInto("deployments")
        .values({ ...deployment, ...model, created_at: NOW, activated_at: NOW })
        .execute();
    }
    for (let index = 0; index < FLEETS; index += 1) {
      const [fleetId, generationId, updateGenerationId] = [newId("fleet"), newId("gen"), newId("gen")];
      const fleet = {
        id: fleetId,
        organization_id: organizationId,
        name: `f${index}`,
        generation_id: generationId,
        update_generation_id: updateGenerationId,
      };
      await transaction.insertInto("fleets").values(fleetRow(fleet)).execute();
      await transaction
        .insertInto("generations")
        .values([
          {
            id: generationId,
            fleet_id: fleetId,
            subject: "a",
            checkpoint_id: "ckpt_a",
            created_at: NOW,
            activated_at: NOW,
          },
          { id: updateGenerationId, fleet_id: fleetId, subject: "b", checkpoint_id: "ckpt_b", created_at: NOW },
        ])
        .execute();
      const robotId = robots[index]?.id ?? "";
      await transaction.insertInto("fleet_members").values({ fleet_id: fleetId, robot_id: robotId }).execute();
    }
  });
  return store;
}

/** Number of event-loop turns while the task ran. */
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
  ["reconcile-deployments: one turn per 500 deployments", createReconcileDeployments, Math.ceil(ROBOTS / 500)],
  ["reconcile-fleets: one turn per fleet with a pending update", createReconcileFleets, FLEETS],
])("%s → requests are handled during a run", async (_name, create, least) => {
  const store = await open();
  const task = create({ store, newId, machine, nudge() {} }, 1000);
  expect(await turnsOf(task)).toBeGreaterThanOrEqual(least);
});

it("reconcile-deployments: invalid data of one deployment → the others are reconciled, one error is logged", async () => {
  const store = await open();
  await store.write(async (transaction) => {
    await transaction.updateTable("deployments").set({ status: "preparing" }).execute();
    const { id } = await transaction.selectFrom("deployments").select("id").orderBy("id").executeTakeFirstOrThrow();
    await transaction.updateTable("deployments").set({ checkpoint_id: "ckpt_b" }).where("id", "=", id).execute();
    await transaction.updateTable("checkpoints").set({ requirements: "[" }).where("id", "=", "ckpt_b").execute();
  });
  const log = createLogbook();
  const context = { store, newId, machine: { ...machine, log } };
  const task = createReconcileDeployments(context);
  for (let run = 0; run < 3; run += 1) await task.run(new AbortController().signal);
  const rows = await store.reader.selectFrom("deployments").select("status").orderBy("id").execute();
  expect(rows.map(({ status }) => status)).toEqual([
    "preparing",
    ...Array.from({ length: ROBOTS - 1 }, () => "active"),
  ]);
  expect(log.errors).toEqual(["task_item_failed"]);
});

it("reconcile-fleets: invalid data of one fleet → the others are reconciled, one error is logged", async () => {
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

/** Records the events that are logged as errors. */
function createLogbook() {
  const errors: string[] = [];
  return { ...testMachine.log, error: (event: string) => void errors.push(event), errors };
}
