import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

import { expect, it, onTestFinished } from "vitest";

import { createReconcileDeployments } from "../../../../src/service/deployments/tasks.ts";
import { createReconcileFleets } from "../../../../src/service/fleets/tasks.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import type { Task } from "../../../../src/service/kernel/tasks/task.ts";
import { NO_REQUIREMENTS, printRequirements } from "../../../../src/service/models/requirements.ts";
import { createUsageClock } from "../../../../src/service/usage/clock.ts";
import { testFolder } from "../../../support/folder.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { endpointRow, fleetRow, insertModel, robotRow } from "../../../support/service/rows.ts";
import { startService } from "../../../support/service/service.ts";

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
  const usageClock = createUsageClock(machine);
  const task = create({ store, newId, machine, usageClock, nudge() {} }, 1000);
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

const requestFor = (path: string, address: string) =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\nx-forwarded-for: ${address}\r\n\r\n`;

it("flood of requests from one address → requests from others are answered before its end", async () => {
  let nowMs = 0;
  // Everything seems to take long, so that each turn of the event loop handles few requests.
  const clock = { ...testMachine.clock, monotonicMs: () => (nowMs += 5) };
  await using service = await startService({ clock, configuration: { trustedProxies: ["127.0.0.1"] } });
  const [flooding, other] = [await connectTo(service), await connectTo(service)];
  flooding.write(requestFor("/healthz", "192.0.2.1").repeat(100));
  other.write(requestFor("/openapi.json", "192.0.2.2"));
  await expect.poll(() => service.requests.length, { timeout: PATIENCE_MS }).toBe(2 + 100 + 1);
  expect(service.requests.findIndex(({ path }) => path === "/openapi.json")).toBeLessThan(50);
});

it("flood of requests on one connection → new connections are answered before its end", async () => {
  // Everything seems to take no time.
  const clock = { ...testMachine.clock, monotonicMs: () => 0 };
  await using service = await startService({ clock });
  const flooding = await connectTo(service);
  const port = Number(new URL(service.url).port);
  const others = Array.from({ length: 20 }, () => connect(port, "127.0.0.1").resume());
  onTestFinished(() => others.forEach((socket) => socket.destroy()));
  for (const socket of others) socket.write(requestFor("/openapi.json", "192.0.2.2"));
  // Node connects in the next tick.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  untilQueued(port, others.length);
  flooding.write(requestFor("/healthz", "192.0.2.1").repeat(200));
  await expect.poll(() => service.requests.length, { timeout: PATIENCE_MS }).toBe(1 + 200 + 20);
  const answered = service.requests.flatMap(({ path }, index) => (path === "/openapi.json" ? [index] : []));
  // On a busy machine the kernel may deliver the last requests late.
  expect(answered[others.length / 2]).toBeLessThan(150);
});

/** Returns when `count` connections wait to be accepted. Blocks the event loop, which would accept them. */
function untilQueued(port: number, count: number): void {
  const listener = `:${port.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A `;
  const sinceMs = performance.now();
  for (let queued = 0; queued < count;) {
    const line = readFileSync("/proc/net/tcp", "utf8").split(listener)[1] ?? "";
    // tx_queue:rx_queue, see proc_pid_net(5). The listener may be missing from one reading of the table.
    queued = Number.parseInt(line.slice("00000000:".length), 16) || 0;
    if (performance.now() - sinceMs > PATIENCE_MS) throw new Error(`${queued} connections wait, not ${count}`);
  }
}

/** A connection over which the service has answered once. */
async function connectTo({ url }: { readonly url: string }): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write(requestFor("/healthz", "192.0.2.1"));
  await once(socket, "data");
  onTestFinished(() => void socket.destroy());
  return socket.resume();
}
