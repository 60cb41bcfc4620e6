/** Fleets that follow their selectors: limits and replicas. test/conformance/api covers what clients see. */
import { expect, it } from "vitest";

import { fleetCreateSchema } from "../../../../src/api/fleets.ts";
import { changeMembership, makeFleet } from "../../../../src/service/fleets/changes.ts";
import { findFleetDetails } from "../../../../src/service/fleets/details.ts";
import { lockFollowing } from "../../../../src/service/fleets/following/queries.ts";
import { createFollowSelectors } from "../../../../src/service/fleets/following/task.ts";
import { createReportFleets } from "../../../../src/service/fleets/report-states.ts";
import { deriveDetails } from "../../../../src/service/fleets/readiness/derive-details.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import { requestFleetCheck } from "../../../../src/service/robots/index.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { endpointRow, fleetRow, insertModel, robotRow, webhookRow } from "../../../support/service/rows.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

const NOW = "2026-06-01T12:00:00.000Z";
const ORGANIZATION = "org_1";
const NEVER = new AbortController().signal;
const newId = createIds(testMachine.clock, testMachine.random);

/** A charge to the history budget. */
interface Charge {
  readonly organizationId: string;
  readonly keyId: string;
  readonly bytes: number;
}

interface Site extends AsyncDisposable {
  readonly store: Store;
  /** The store of another replica; on SQLite, which has one, the same object. */
  readonly second: Store;
  readonly spent: readonly Charge[];
  /** How often the task woke the others, which must look at changed fleets. */
  nudges(): number;
  /** Runs the task of both replicas until no check is left. */
  settle(): Promise<void>;
  addRobots(count: number, site: string): Promise<string[]>;
  /** Moves the robots as their setups would. */
  move(robotIds: readonly string[], site: string): Promise<void>;
  check(subjectIds: readonly string[]): Promise<void>;
  addFleets(count: number, members?: readonly string[]): Promise<string[]>;
  membersOf(fleetId: string): Promise<string[]>;
  details(fleetId: string): ReturnType<typeof readDetails>;
}

async function openSite(newStore: NewStore): Promise<Site> {
  const resources = new AsyncDisposableStack();
  const location = await newStore();
  const store = resources.use(await openStore(location, testMachine));
  const second = location.kind === "sqlite" ? store : resources.use(await openStore(location, testMachine));
  const spent: Charge[] = [];
  const history = { spend: (owner: Omit<Charge, "bytes">, bytes: number) => void spent.push({ ...owner, bytes }) };
  let nudges = 0;
  const nudge = () => void (nudges += 1);
  const tasks = [store, second].map((each) =>
    createFollowSelectors({ store: each, newId, machine: testMachine, nudge, history }, 1000),
  );
  await store.write(async (transaction) => {
    const organization = { id: ORGANIZATION, name: "lab", created_at: NOW };
    await transaction.insertInto("organizations").values(organization).execute();
    await insertModel(transaction, { slug: "pi", id: "ckpt_pi", at: NOW });
  });
  const check = (subjectIds: readonly string[]) =>
    store.write(async (transaction) => {
      for (const id of subjectIds) {
        const author = { auditId: newId("aud"), actor: "key_1", requestId: "req_1" };
        await requestFleetCheck(transaction, author, ORGANIZATION, id);
      }
    });
  return {
    store,
    second,
    spent,
    nudges: () => nudges,
    check,
    async settle() {
      // A replica skips organizations whose checks another one is processing, until its next run.
      do {
        await Promise.all(tasks.map((task) => task.run(NEVER)));
      } while ((await store.reader.selectFrom("fleet_checks").select("id").limit(1).execute()).length > 0);
    },
    async addRobots(count, site) {
      const ids = Array.from({ length: count }, () => newId("rob"));
      await store.write(async (transaction) => {
        for (const id of ids) {
          const row = robotRow({ id, organization_id: ORGANIZATION, name: id, site });
          await transaction.insertInto("robots").values(row).execute();
        }
      });
      return ids;
    },
    async move(robotIds, site) {
      await store.write((transaction) =>
        transaction.updateTable("robots").set({ site }).where("id", "in", robotIds).execute(),
      );
      await check(robotIds);
    },
    async addFleets(count, members = []) {
      const ids = Array.from({ length: count }, () => newId("fleet"));
      await store.write(async (transaction) => {
        for (const id of ids) {
          const selector = { site: "plant", region: null, robot_type_id: null, labels: {} };
          const selection = JSON.stringify({ kind: "selector", selector });
          const generationId = newId("gen");
          const row = { id, organization_id: ORGANIZATION, name: id, generation_id: generationId, selection };
          await transaction
            .insertInto("fleets")
            .values(fleetRow({ ...row, follows_since: NOW }))
            .execute();
          const generation = {
            id: generationId,
            fleet_id: id,
            subject: "pi",
            checkpoint_id: "ckpt_pi",
            created_at: NOW,
          };
          await transaction.insertInto("generations").values(generation).execute();
          for (const robotId of members) {
            await transaction.insertInto("fleet_members").values({ fleet_id: id, robot_id: robotId }).execute();
          }
        }
      });
      return ids;
    },
    async membersOf(fleetId) {
      const rows = await store.reader
        .selectFrom("fleet_members")
        .select("robot_id")
        .where("fleet_id", "=", fleetId)
        .orderBy("robot_id")
        .execute();
      return rows.map(({ robot_id: robotId }) => robotId);
    },
    details: (fleetId) => readDetails(store, fleetId),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function readDetails(store: Store, fleetId: string) {
  const facts = await findFleetDetails(store.reader, ORGANIZATION, fleetId);
  if (facts === undefined) throw new Error("The fleet is gone");
  return deriveDetails(facts, Date.parse(NOW));
}

const five = (change: string) => Array.from({ length: 5 }, () => change);

describeOnEachStore("fleets that follow their selectors", (newStore) => {
  it("full fleet → its details name a robot that is left out; the robot joins when a place becomes free", async () => {
    await using site = await openSite(newStore);
    const members = await site.addRobots(999, "plant");
    const [fleet = ""] = await site.addFleets(1, members);
    const late = await site.addRobots(3, "plant");
    await site.check(late);
    await site.settle();
    expect(await site.membersOf(fleet)).toEqual([...members, late[0]]);
    const { needs, membership_changes: changes = [] } = await site.details(fleet);
    const changesOf = (of: typeof changes) =>
      of.map(({ robot_id: id, change }) => [late.indexOf(id), change]).toReversed();
    expect(changesOf(changes)).toEqual([
      [0, "joined"],
      [1, "left_out"],
      [2, "left_out"],
    ]);
    expect(needs.at(-1)).toEqual({
      reason: `The fleet has 1000 robots, the most it may have: ${late[1]} matches its selector and is left out, perhaps among others.`,
      action: "Create fleets with narrower selectors.",
    });
    // Robots that were left out take the free places.
    await site.move(members.slice(0, 1), "lab");
    await site.settle();
    expect(await site.membersOf(fleet)).toEqual([...members.slice(1), ...late.slice(0, 2)]);
    expect((await site.details(fleet)).needs.at(-1)?.reason).toContain(late[2]);
    await site.move(members.slice(1, 2), "lab");
    await site.settle();
    expect(await site.membersOf(fleet)).toEqual([...members.slice(2), ...late]);
    expect(JSON.stringify((await site.details(fleet)).needs)).not.toContain("left out");
    // A robot that no longer matches is no longer left out.
    const [last = ""] = await site.addRobots(1, "plant");
    await site.check([last]);
    await site.settle();
    expect((await site.details(fleet)).needs.at(-1)?.reason).toContain(last);
    await site.move([last], "lab");
    await site.settle();
    expect(JSON.stringify((await site.details(fleet)).needs)).not.toContain("left out");
  });

  it("robots join → the other tasks are woken; a check changes nothing → not", async () => {
    await using site = await openSite(newStore);
    const [fleet = ""] = await site.addFleets(1);
    await site.check(await site.addRobots(1, "lab"));
    await site.settle();
    expect([(await site.membersOf(fleet)).length, site.nudges()]).toEqual([0, 0]);
    await site.check(await site.addRobots(1, "plant"));
    await site.settle();
    expect([(await site.membersOf(fleet)).length, site.nudges()]).toEqual([1, 1]);
  });

  it("check of a fleet → joins and leaves in one search; at the maximum, present members stay", async () => {
    await using site = await openSite(newStore);
    const others = await site.addRobots(5, "lab");
    const before = await site.addRobots(20, "plant");
    const members = await site.addRobots(995, "plant");
    const [fleet = ""] = await site.addFleets(1, [...others, ...members]);
    await site.check([fleet]);
    await site.settle();
    expect(await site.membersOf(fleet)).toEqual([...before.slice(0, 5), ...members]);
    const { needs, membership_changes: changes = [] } = await site.details(fleet);
    expect(needs.at(-1)?.reason).toContain(before[5]);
    expect(changes.map(({ change }) => change).toSorted()).toEqual([...five("joined"), ...five("left")]);
  });

  it("robot changes sites back and forth → its key is charged for each entry of each fleet", async () => {
    await using site = await openSite(newStore);
    await site.addFleets(3);
    const [robot = ""] = await site.addRobots(1, "lab");
    for (const place of ["plant", "lab"]) {
      await site.move([robot], place);
      await site.settle();
    }
    const entries = await site.store.reader.selectFrom("audit_log").select("details").execute();
    expect(entries).toHaveLength(6);
    const bytes = entries.map(({ details }) => Buffer.byteLength(details)).toSorted((a, b) => a - b);
    const spent = site.spent.toSorted((a, b) => a.bytes - b.bytes);
    expect(spent).toEqual(bytes.map((size) => ({ organizationId: ORGANIZATION, keyId: "key_1", bytes: size })));
  });

  it("robot set up in a transaction concurrent with the creation of the fleet → joins", async () => {
    await using site = await openSite(newStore);
    const ids = { fleetId: newId("fleet"), generationId: newId("gen") };
    const author = { auditId: newId("aud"), at: NOW, organizationId: ORGANIZATION, actor: "key_1", requestId: null };
    const selection = { selector: { site: "plant" }, membership: "follow" };
    const rest = { peak_active_robots: 1, readiness_mode: "always_ready" };
    const body = fleetCreateSchema.parse({ name: "f", subject: "pi", selection, ...rest });
    await site.store.write((transaction) => makeFleet(transaction, ORGANIZATION, body, ids, author));
    // The check of this robot ended before the fleet was committed.
    const robots = await site.addRobots(1, "plant");
    await site.settle();
    expect(await site.membersOf(ids.fleetId)).toEqual(robots);
  });

  it("two replicas, one organization → one changes its members, the other skips it without waiting", async () => {
    await using site = await openSite(newStore);
    const [fleet = ""] = await site.addFleets(1);
    const found = await site.store.write(async (transaction) => {
      const mine = await lockFollowing(transaction, ORGANIZATION);
      // SQLite has one writer.
      const theirs =
        site.second === site.store ? null : await site.second.write((own) => lockFollowing(own, ORGANIZATION));
      return [mine?.map(({ id }) => id), theirs];
    });
    expect(found).toEqual([[fleet], null]);
  });

  it("200 fleets, robots moved by both replicas → each joins and leaves once", async () => {
    await using site = await openSite(newStore);
    const robots = await site.addRobots(30, "plant");
    const fleets = await site.addFleets(200);
    await site.check([...robots, ...robots.toReversed()]);
    await site.settle();
    await site.move(robots.slice(0, 10), "lab");
    await Promise.all([site.settle(), site.move(robots.slice(0, 5), "plant"), site.move(robots.slice(5), "lab")]);
    await site.settle();
    for (const fleet of fleets) expect(await site.membersOf(fleet)).toEqual(robots.slice(0, 5));
    const audited = await site.store.reader
      .selectFrom("audit_log")
      .select(["action", "subject_id", "actor", "request_id"])
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("subject_id", "=", fleets[0] ?? "")
      .groupBy(["action", "subject_id", "actor", "request_id"])
      .execute();
    const count = (wanted: string) => audited.find(({ action }) => action === wanted)?.count ?? 0;
    expect(count("fleet.join") - count("fleet.leave")).toBe(5);
    expect(audited[0]).toMatchObject({ actor: "key_1", request_id: "req_1" });
  });

  it("robot joins → the endpoints it may need are due", async () => {
    await using site = await openSite(newStore);
    const later = "2999-01-01T00:00:00.000Z";
    const endpoint = endpointRow({ checkpoint_id: "ckpt_pi", region: "r", next_probe_at: later });
    await site.store.write((transaction) => transaction.insertInto("endpoints").values(endpoint).execute());
    await site.addFleets(1);
    const nextProbe = async () =>
      (await site.store.reader.selectFrom("endpoints").select("next_probe_at").executeTakeFirstOrThrow()).next_probe_at;
    await site.check(await site.addRobots(1, "lab"));
    await site.settle();
    expect(await nextProbe()).toBe(later);
    await site.check(await site.addRobots(1, "plant"));
    await site.settle();
    expect(await nextProbe()).not.toBe(later);
  });

  it("200 following fleets of an organization → the next one is refused with 409", async () => {
    await using site = await openSite(newStore);
    const [first = ""] = await site.addFleets(200);
    const [last = ""] = await site.addFleets(1);
    const change = (id: string, membership: "follow" | "snapshot") => {
      const author = { auditId: newId("aud"), at: NOW, organizationId: ORGANIZATION, actor: "key_1", requestId: null };
      const key = { id, organization_id: ORGANIZATION };
      return site.store.write((transaction) => changeMembership(transaction, key, membership, author));
    };
    expect(await change(last, "snapshot")).toMatchObject({ isChanged: true });
    expect(await change(last, "follow")).toMatchObject({ status: 409 });
    await change(first, "snapshot");
    expect(await change(last, "follow")).toMatchObject({ isChanged: true });
  });

  it("report-fleets: 250 fleets → the state of each is reported", async () => {
    await using site = await openSite(newStore);
    const fleetIds = await site.addFleets(250);
    const webhook = webhookRow({ organization_id: ORGANIZATION, created_at: NOW });
    await site.store.write((transaction) => transaction.insertInto("webhooks").values(webhook).execute());
    await createReportFleets({ store: site.store, machine: testMachine, newId }).run(NEVER);
    const reported = await site.store.reader.selectFrom("reported_states").select("subject_id").execute();
    expect(reported.map(({ subject_id: id }) => id).toSorted()).toEqual(fleetIds.toSorted());
  });

  it("several checks of one fleet → one search: each reads all robots that may match", async () => {
    await using site = await openSite(newStore);
    const [fleet] = await site.addFleets(1);
    if (fleet === undefined) throw new Error("There is no fleet");
    await site.addRobots(1, "plant");
    await site.check(Array.from({ length: 20 }, () => fleet));
    let writes = 0;
    const counted: Store = { ...site.store, write: (job) => ((writes += 1), site.store.write(job)) };
    const context = { store: counted, newId, machine: testMachine, nudge() {}, history: { spend() {} } };
    await createFollowSelectors(context, 1000).run(NEVER);
    expect(writes).toBe(1);
    expect(await site.store.reader.selectFrom("fleet_checks").selectAll().execute()).toEqual([]);
    expect(await site.membersOf(fleet)).toHaveLength(1);
  });

  it("no following fleet → checks are discarded", async () => {
    await using site = await openSite(newStore);
    await site.check(await site.addRobots(450, "plant"));
    await site.settle();
    expect(await site.store.reader.selectFrom("audit_log").selectAll().execute()).toEqual([]);
  });
});
