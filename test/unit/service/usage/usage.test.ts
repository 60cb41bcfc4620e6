import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";

import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";

import { systemClock } from "../../../../src/platform/clock.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { deploy, retire } from "../../../../src/service/deployments/operations.ts";
import { lockCurrentDeployment } from "../../../../src/service/deployments/queries.ts";
import { createMeterUsage, createReconcileDeployments } from "../../../../src/service/deployments/tasks.ts";
import { createIds, type NewId } from "../../../../src/service/kernel/ids.ts";
import { ALL_ROWS } from "../../../../src/service/kernel/lists/pages.ts";
import { createLog } from "../../../../src/service/kernel/log.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import { registrationOf, upsertRobot } from "../../../../src/service/robots/robots.ts";
import {
  lastPeriodEnd,
  latestBelieved,
  listUsage,
  periodEnd,
  periodSeconds,
  periodStart,
  type UsagePeriod,
  wholeHour,
} from "../../../../src/service/usage/usage.ts";
import { memoryFolder } from "../../../support/memory.ts";
import { times } from "../../../support/run/tier.ts";
import { endpointRow, insertModel } from "../../../support/service/rows.ts";
import { openServiceParts } from "../../../support/service/service-parts.ts";

describe("usage periods", () => {
  it("start and end on a full second, in order", () => {
    expect(periodStart("2026-03-01T12:00:00.999Z", null)).toBe("2026-03-01T12:00:00.000Z");
    expect(periodStart("2026-03-01T12:00:00.999Z", "2026-03-01T13:00:00.000Z")).toBe("2026-03-01T13:00:00.000Z");
    expect(periodEnd("2026-03-01T12:00:00.000Z", "2026-03-01T12:00:01.999Z")).toBe("2026-03-01T12:00:01.000Z");
    expect(periodEnd("2026-03-01T12:00:00.000Z", "2026-03-01T11:00:00.000Z")).toBe("2026-03-01T12:00:00.000Z");
    expect(periodSeconds("2026-03-01T12:00:00.000Z", "2026-03-01T13:00:01.000Z")).toBe(3601);
    expect(wholeHour("2026-03-01T12:59:59.999Z")).toBe("2026-03-01T12:00:00.000Z");
    expect(latestBelieved("2026-03-01T12:59:59.999Z")).toBe("2026-03-02T12:59:59.000Z");
  });
});

it("period of a robot → starts after its own last one, despite other robots and wrong clocks", async () => {
  await using parts = await openServiceParts();
  await parts.addModel("pi");
  const minute = (count: number) => parts.at(count * 60_000);
  const untilOf = async (robot: string, ends: readonly (string | null)[]) => {
    await parts.register(robot);
    const { id } = await parts.store.reader
      .selectFrom("robots")
      .select("id")
      .where("name", "=", robot)
      .executeTakeFirstOrThrow();
    const rows = ends.map((usageUntil, index) => ({
      id: `dep_${robot}_${index}`,
      organization_id: ORGANIZATION,
      robot_id: id,
      model_slug: "pi",
      checkpoint_id: "ckpt_pi",
      region: "here",
      status: "retired" as const,
      generation_id: "gen_1",
      created_at: parts.at(),
      retired_at: parts.at(),
      usage_until: usageUntil,
    }));
    await parts.store.write((transaction) => transaction.insertInto("deployments").values(rows).execute());
    return id;
  };
  const first = await untilOf("first", [minute(10), minute(30), null, minute(61)]);
  const second = await untilOf("second", [minute(20)]);
  const third = await untilOf("third", [null]);
  const lastOf = (id: string) =>
    parts.store.write((transaction) => lastPeriodEnd(transaction, ORGANIZATION, id, minute(60)));
  expect([await lastOf(first), await lastOf(second), await lastOf(third)]).toEqual([minute(30), minute(20), null]);
});

const ORGANIZATION = "org_1";
const ROBOTS = ["r0", "r1"] as const;
const MODELS = ["m0", "m1"] as const;
const REGIONS = ["here", "there", "nowhere"] as const;
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const BEGIN_MS = Date.parse("2026-03-01T11:59:50.250Z");
const log = createLog("silent", { write() {} });

type Command =
  | { readonly do: "deploy"; readonly robot: number; readonly model: number }
  | { readonly do: "retire"; readonly robot: number }
  | { readonly do: "move"; readonly robot: number; readonly region: number }
  | { readonly do: "health"; readonly model: number; readonly health: "healthy" | "failing" | "unknown" }
  | { readonly do: "tasks" | "restart" };

interface Step {
  readonly command: Command;
  /** Time that passes before the command. */
  readonly wait_ms: number;
  /** Change of the wall clock at that time. */
  readonly jump_ms: number;
}

const index = (items: readonly unknown[]) => fc.nat(items.length - 1);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("deploy" as const), robot: index(ROBOTS), model: index(MODELS) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("retire" as const), robot: index(ROBOTS) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("move" as const), robot: index(ROBOTS), region: index(REGIONS) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("health" as const),
      model: index(MODELS),
      health: fc.constantFrom("healthy" as const, "healthy" as const, "failing" as const, "unknown" as const),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("tasks" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
);
const passes = fc.oneof(fc.nat(900), fc.nat(2500), fc.nat(120_000), fc.nat(3 * HOUR_MS));
const backJumps = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: -5_400_000, max: -1 }) },
);
const many = { minLength: 10, maxLength: 40, size: "max" } as const;
const forward: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({ command, wait_ms: passes, jump_ms: fc.constant(0) }),
  many,
);
const jumpingBack: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({ command, wait_ms: passes, jump_ms: backJumps }),
  many,
);
/** A service without its network, on a real store, with a clock that the test advances. */
class World {
  nowMs = BEGIN_MS;
  /** Time since the start. */
  passedMs = 0;
  readonly #folder: string;
  #store: Store;
  #newId: NewId;

  private constructor(folder: string, store: Store) {
    this.#folder = folder;
    this.#store = store;
    this.#newId = createIds(this.#clock, systemRandom);
  }

  pass(durationMs: number): void {
    this.nowMs += durationMs;
    this.passedMs += durationMs;
  }

  static async begin(folder: string): Promise<World> {
    const store = await openStore({ kind: "sqlite", dataDirectory: folder }, MACHINE);
    const world = new World(folder, store);
    await world.#seed();
    return world;
  }

  get now(): string {
    return new Date(this.nowMs).toISOString();
  }

  get #clock() {
    return { ...systemClock, wallMs: () => this.nowMs, monotonicMs: () => this.passedMs };
  }

  async run(todo: Command): Promise<void> {
    const moment = { now: this.now, usageId: this.#newId("use") };
    const author = { ...AUTHOR, auditId: this.#newId("aud"), at: this.now };
    switch (todo.do) {
      case "deploy": {
        const ids = { deploymentId: this.#newId("dep"), generationId: this.#newId("gen") };
        const wish = {
          ...ids,
          organization_id: ORGANIZATION,
          model: MODELS[todo.model] ?? "",
          robot: ROBOTS[todo.robot] ?? "",
        };
        await this.#store.write((transaction) => deploy(transaction, wish, moment, author));
        return;
      }
      case "retire":
        await this.#store.write(async (transaction) => {
          const current = await lockCurrentDeployment(transaction, ORGANIZATION, `rob_${todo.robot}`);
          if (current !== undefined) await retire(transaction, current, moment);
        });
        return;
      case "move":
        await this.#register(todo.robot, REGIONS[todo.region] ?? "");
        return;
      case "health":
        await this.#store.write((transaction) =>
          transaction
            .updateTable("endpoints")
            .set({ health: todo.health })
            .where("checkpoint_id", "=", `ckpt_${todo.model}`)
            .execute(),
        );
        return;
      case "tasks":
        await this.tasks();
        return;
      case "restart":
        await this.close();
        this.#store = await openStore({ kind: "sqlite", dataDirectory: this.#folder }, MACHINE);
        this.#newId = createIds(this.#clock, systemRandom);
        return;
    }
  }

  async tasks(): Promise<void> {
    const machine = { ...MACHINE, clock: this.#clock };
    const context = { store: this.#store, newId: this.#newId, machine };
    for (const task of [createReconcileDeployments(context), createMeterUsage(context)]) {
      await task.run(new AbortController().signal);
    }
  }

  /** Ids of active deployments, by robot. */
  async active(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#store.reader
      .selectFrom("deployments")
      .select(["id", "robot_id"])
      .where("status", "=", "active")
      .execute();
    return new Map(rows.map(({ robot_id: robotId, id }) => [robotId, id]));
  }

  usage(begin: { readonly since?: string; readonly until?: string } = {}): Promise<readonly UsagePeriod[]> {
    return listUsage(this.#store.reader, ORGANIZATION, ALL_ROWS, this.now, begin);
  }

  /** The same list in small pages. */
  async usagePages(rows: number): Promise<readonly UsagePeriod[]> {
    const all: UsagePeriod[] = [];
    for (let after: string | null = null; ;) {
      const now = this.now;
      const page: readonly UsagePeriod[] = await listUsage(this.#store.reader, ORGANIZATION, { after, rows }, now);
      all.push(...page);
      if (page.length < rows) return all;
      after = page.at(-1)?.id ?? null;
    }
  }

  async close(): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }

  async #register(robot: number, region: string): Promise<void> {
    const setup = { name: ROBOTS[robot] ?? "", robot_type_id: "t", region, configuration_digest: DIGEST };
    const identity = {
      id: `rob_${robot}`,
      now: this.now,
      auditId: "aud_1",
      recentChanges: "[]",
      madeBy: "key_1",
      keepsEntry: 0 as const,
      installationId: null,
    };
    await this.#store.write((transaction) => upsertRobot(transaction, ORGANIZATION, registrationOf(setup), identity));
  }

  async #seed(): Promise<void> {
    const createdAt = this.now;
    await this.#store.write(async (transaction) => {
      await transaction
        .insertInto("organizations")
        .values({ id: ORGANIZATION, name: "o", created_at: createdAt })
        .execute();
      for (const [number, slug] of MODELS.entries()) {
        const id = `ckpt_${number}`;
        await insertModel(transaction, { slug, id, at: createdAt });
        for (const region of REGIONS.slice(0, 2)) {
          const row = endpointRow({ checkpoint_id: id, region, health: "healthy", next_probe_at: createdAt });
          await transaction.insertInto("endpoints").values(row).execute();
        }
      }
    });
    for (const robot of ROBOTS.keys()) await this.#register(robot, "here");
  }
}

const DIGEST = `sha256:${"0".repeat(64)}`;
const MACHINE = { clock: systemClock, files: systemFiles, random: systemRandom, log };
const AUTHOR = { organizationId: ORGANIZATION, actor: "command", requestId: null };

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

async function inWorld(use: (world: World) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(memoryFolder, "usage-"));
  folders.push(folder);
  const world = await World.begin(folder);
  try {
    await use(world);
  } finally {
    await world.close();
  }
}

const sum = (periods: readonly UsagePeriod[]) => periods.reduce((total, { quantity }) => total + quantity, 0);

/** No second of a robot counts twice, every quantity matches its period, every id is unique. */
function expectSound(periods: readonly UsagePeriod[], now: string): void {
  expect(new Set(periods.map(({ id }) => id)).size).toBe(periods.length);
  for (const robot of ROBOTS) {
    const own = periods
      .filter(({ robot_name: robotName }) => robotName === robot)
      .toSorted((left, right) => (left.period_start < right.period_start ? -1 : 1));
    for (const [position, period] of own.entries()) {
      const end = period.period_end ?? new Date(Math.floor(Date.parse(now) / 1000) * 1000).toISOString();
      expect(period.quantity).toBe(periodSeconds(period.period_start, end));
      expect(period.quantity).toBeGreaterThan(0);
      const next = own[position + 1];
      if (next !== undefined) expect(next.period_start >= end).toBe(true);
    }
  }
}

describe("the usage ledger", () => {
  it("any interleaving → the sum is the time that deployments were active, each second once", async () => {
    await fc.assert(
      fc.asyncProperty(forward, (steps) =>
        inWorld(async (world) => {
          // The expected usage, measured independently.
          let seconds = 0;
          const since = new Map<string, { readonly id: string; readonly fromS: number }>();
          for (const { command: todo, wait_ms: waitMs } of steps) {
            world.pass(waitMs);
            await world.run(todo);
            const nowS = Math.floor(world.nowMs / 1000);
            const active = await world.active();
            for (const [robot, { id, fromS }] of since) {
              if (active.get(robot) === id) continue;
              seconds += nowS - fromS;
              since.delete(robot);
            }
            for (const [robot, id] of active) if (!since.has(robot)) since.set(robot, { id, fromS: nowS });
            const running = [...since.values()].reduce((total, { fromS }) => total + nowS - fromS, 0);
            expect(sum(await world.usage())).toBe(seconds + running);
          }
          const before = await world.usage();
          expectSound(before, world.now);
          // Cutting at the hour changes neither the sum nor earlier records.
          await world.run({ do: "restart" });
          await world.tasks();
          const after = await world.usage();
          expect(after.map(({ id }) => id)).toEqual(expect.arrayContaining(before.map(({ id }) => id)));
          expect(await world.usagePages(2)).toEqual(after);
          for (const { period_start: since } of after) {
            const until = after.at(-1)?.period_start ?? since;
            const begun = after.filter(({ period_start: start }) => since <= start && start < until);
            expect(await world.usage({ since, until })).toEqual(begun);
          }
        }),
      ),
      { numRuns: times(12, 60) },
    );
  });

  it("clock jumps back → nothing negative, nothing counted twice", async () => {
    await fc.assert(
      fc.asyncProperty(jumpingBack, (steps) =>
        inWorld(async (world) => {
          for (const { command: todo, wait_ms: waitMs, jump_ms: jumpMs } of steps) {
            world.pass(waitMs);
            world.nowMs += jumpMs;
            await world.run(todo);
            const periods = await world.usage();
            expectSound(periods, world.now);
            expect(sum(periods)).toBeLessThanOrEqual((world.passedMs / 1000 + 1) * ROBOTS.length);
          }
        }),
      ),
      { numRuns: times(8, 40) },
    );
  });

  it.each<[what: string, steps: (world: World) => Promise<void>, seconds: number]>([
    [
      "a year ahead within a period, and corrected → the year counts, and later usage at once",
      async (world) => {
        world.nowMs += YEAR_MS;
        await world.tasks();
        world.nowMs -= YEAR_MS;
        await world.tasks();
        world.pass(5000);
      },
      YEAR_MS / 1000 - 3590 + 5,
    ],
    [
      "a year ahead at the start, corrected by a restart → active deployments count from then on",
      async (world) => {
        world.nowMs += YEAR_MS;
        await world.run({ do: "restart" });
        await world.run({ do: "deploy", robot: 1, model: 0 });
        await world.run({ do: "retire", robot: 0 });
        const before = sum(await world.usage());
        expect(before).toBe(YEAR_MS / 1000);
        world.nowMs -= YEAR_MS;
        await world.run({ do: "restart" });
        await world.tasks();
        world.pass(5000);
      },
      YEAR_MS / 1000 + 5,
    ],
    [
      "set back → what was counted stays; nothing counts until the clock is there again",
      async (world) => {
        world.pass(20_000);
        await world.tasks();
        world.nowMs -= 10_000;
        await world.tasks();
        world.pass(15_000);
        await world.run({ do: "retire", robot: 0 });
      },
      25,
    ],
  ])("clock %s", (_what, steps, seconds) =>
    inWorld(async (world) => {
      await world.run({ do: "deploy", robot: 0, model: 0 });
      await steps(world);
      expect(sum(await world.usage())).toBe(seconds);
    }),
  );

  it("continuing period → cut at each full hour, after an outage once", () =>
    inWorld(async (world) => {
      await world.run({ do: "deploy", robot: 0, model: 0 });
      world.pass(20_000);
      await world.tasks();
      world.pass(5 * HOUR_MS);
      await world.tasks();
      const periods = await world.usage();
      expect(periods.map(({ period_start, period_end, quantity }) => [period_start, period_end, quantity])).toEqual([
        ["2026-03-01T11:59:50.000Z", "2026-03-01T12:00:00.000Z", 10],
        ["2026-03-01T12:00:00.000Z", "2026-03-01T17:00:00.000Z", 18_000],
        ["2026-03-01T17:00:00.000Z", null, 10],
      ]);
    }));
});
