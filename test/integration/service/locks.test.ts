/** Rows that a change reads before it writes them are locked until it commits, whichever replica runs it. */
import { describe, expect, it, onTestFinished } from "vitest";

import { isAnyUsed } from "../../../src/service/identity/credentials.ts";
import { lockEnrolment, UNDECIDED } from "../../../src/service/identity/enrolments.ts";
import { lockInstallation } from "../../../src/service/identity/installations.ts";
import { openStore } from "../../../src/service/kernel/store/open-store.ts";
import type { Store, Transaction } from "../../../src/service/kernel/store/store.ts";
import type { Tables } from "../../../src/service/kernel/store/tables.ts";
import { lockLogin } from "../../../src/service/logins/logins.ts";
import { lockRobot, lockRobotNamed } from "../../../src/service/robots/index.ts";
import { lockPeriods } from "../../../src/service/usage/usage.ts";
import { lease } from "../../../src/service/webhooks/deliver.ts";
import { testMachine } from "../../support/robot/machine.ts";
import { WITHOUT_POSTGRES } from "../../support/service/postgres.ts";
import { insertModel, installationRow, robotRow, webhookRow } from "../../support/service/rows.ts";
import { usePostgres } from "../../support/service/stores.ts";

const AT = "2026-01-01T00:00:00.000Z";
const LATER = "2026-01-01T01:00:00.000Z";
const OF = { organization_id: "org_1", robot_id: "rob_1" } as const;

/** One row in each of the tables. */
async function insertRows(transaction: Transaction): Promise<void> {
  await transaction.insertInto("organizations").values({ id: "org_1", name: "lab", created_at: AT }).execute();
  await transaction
    .insertInto("robots")
    .values(robotRow({ id: "rob_1", organization_id: "org_1", name: "arm" }))
    .execute();
  await transaction
    .insertInto("installations")
    .values(installationRow({ ...OF, id: "rinst_1" }))
    .execute();
  await transaction
    .insertInto("robot_credentials")
    .values({
      token_sha256: "t",
      organization_id: "org_1",
      installation_id: "rinst_1",
      generation: 1,
      standing: "newest",
      issued_at: AT,
      expires_at: LATER,
      renew_at: LATER,
    })
    .execute();
  await transaction
    .insertInto("enrolments")
    .values({
      ...UNDECIDED,
      id: "renr_1",
      public_key: "k",
      user_code: "CODE",
      poll_token_sha256: "t",
      requested_name: "arm",
      labels: "{}",
      configuration_digest: "",
      client_address: "192.0.2.1",
      client_site: "192.0.2.1",
      created_at: AT,
      expires_at: LATER,
      confirm_replace: 0,
    })
    .execute();
  await transaction
    .insertInto("login_exchanges")
    .values({
      id: "login_1",
      verifier_sha256: "v",
      callback_url: "http://127.0.0.1:1/",
      client_address: "192.0.2.1",
      client_site: "192.0.2.1",
      state: "pending",
      created_at: AT,
      expires_at: LATER,
    })
    .execute();
  await insertModel(transaction, { slug: "pi", id: "ckpt_1" });
  await transaction
    .insertInto("deployments")
    .values({
      ...OF,
      id: "dep_1",
      model_slug: "pi",
      checkpoint_id: "ckpt_1",
      region: "here",
      status: "active",
      generation_id: "gen_1",
      created_at: AT,
      usage_from: AT,
      usage_id: "use_1",
    })
    .execute();
  await transaction.insertInto("webhooks").values(webhookRow()).execute();
  await transaction
    .insertInto("webhook_outbox")
    .values({ id: "whd_1", webhook_id: "wh_1", event_id: "evt_1", body: "{}", attempts: 0, next_attempt_at: AT })
    .execute();
}

type Lock = (transaction: Transaction) => Promise<unknown>;

/** Rows of these that another replica finds occupied. */
const LOCKS: readonly (readonly [table: keyof Tables, by: string, lock: Lock])[] = [
  ["enrolments", "its id", (transaction) => lockEnrolment(transaction, "renr_1")],
  ["installations", "its id", (transaction) => lockInstallation(transaction, "org_1", "rinst_1")],
  ["robot_credentials", "whether one was used", (transaction) => isAnyUsed(transaction, "rinst_1")],
  ["login_exchanges", "its id", (transaction) => lockLogin(transaction, "login_1")],
  ["robots", "its id", (transaction) => lockRobot(transaction, "org_1", "rob_1")],
  ["robots", "its name", (transaction) => lockRobotNamed(transaction, "org_1", "arm")],
  ["deployments", "a running period", (transaction) => lockPeriods(transaction, ["<", LATER])],
  ["webhook_outbox", "a delivery", (transaction) => lease(transaction, "wh_1", { now: AT, until: LATER })],
];

describe.skipIf(WITHOUT_POSTGRES)("rows that a change reads first", { tags: "needs/postgres" }, () => {
  const databases = usePostgres();

  /** The stores of two replicas. */
  async function openStores(): Promise<readonly [Store, Store]> {
    const location = await databases.withSchema();
    const stores = [await openStore(location, testMachine), await openStore(location, testMachine)] as const;
    onTestFinished(async () => {
      for (const store of stores) await store[Symbol.asyncDispose]();
    });
    return stores;
  }

  it.each(LOCKS)("%s by %s → locked for other replicas", async (table, _by, lock) => {
    const [first, second] = await openStores();
    await first.write(insertRows);
    const free = () =>
      second.write((other) =>
        other
          .selectFrom(table)
          .select(({ lit }) => lit(1).as("one"))
          .forUpdate()
          .skipLocked()
          .execute(),
      );
    expect(await free()).toHaveLength(1);
    await first.write(async (transaction) => {
      expect(await lock(transaction)).toBeDefined();
      expect(await free()).toEqual([]);
    });
  });

  it("periods and deliveries that another replica has → left to it, without waiting", async () => {
    const [first, second] = await openStores();
    await first.write(insertRows);
    await first.write(async (transaction) => {
      expect(await lockPeriods(transaction, ["<", LATER])).toHaveLength(1);
      expect(await lease(transaction, "wh_1", { now: AT, until: LATER })).toBeDefined();
      await second.write(async (other) => {
        expect(await lockPeriods(other, ["<", LATER])).toEqual([]);
        expect(await lease(other, "wh_1", { now: AT, until: LATER })).toBeUndefined();
      });
    });
  });
});
