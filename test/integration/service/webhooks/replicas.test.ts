import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, it, onTestFinished } from "vitest";

import { systemClock } from "../../../../src/platform/clock.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { announce } from "../../../../src/service/webhooks/announce.ts";
import { addWebhook } from "../../../../src/service/webhooks/operations.ts";
import { testFolder } from "../../../support/folder.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";
import { robotRow, webhookRow } from "../../../support/service/rows.ts";
import { startService } from "../../../support/service/service.ts";
import { usePostgres } from "../../../support/service/stores.ts";
import { startServe } from "../service-process.ts";
import { createWebhook, LOCAL, setUp, startReceiver } from "./receiver.ts";

const SOON = { timeout: PATIENCE_MS, interval: 50 };
/** Another process takes over the attempt of a killed one after this time. */
const AFTER_THE_LEASE_MS = 60_000;

/** A replica in a process of its own that may send to this machine. */
async function serve(database: string, folder: string) {
  const configuration = join(folder, "config.yaml");
  await writeFile(configuration, JSON.stringify({ webhooks: { allow: ["127.0.0.1"] } }));
  const keyFile = join(folder, "bootstrap-key");
  const replica = await startServe(keyFile, "--config", configuration, "--database", database);
  onTestFinished(() => replica.kill());
  return replica;
}

describe.skipIf(WITHOUT_POSTGRES)("webhooks of several replicas", { tags: "needs/postgres" }, () => {
  const databases = usePostgres();

  it("two replicas → each event is delivered once", async () => {
    const store = await databases.withSchema();
    const dataDirectory = testFolder("replicas");
    const receiver = await startReceiver();
    const options = { store, dataDirectory, configuration: { rateLimit: null, webhooks: LOCAL } };
    await using first = await startService(options);
    await using second = await startService(options);
    await createWebhook(first, receiver.url);
    const names = Array.from({ length: 40 }, (_, index) => `arm-${index}`);
    await Promise.all(names.map((name, index) => setUp(index % 2 === 0 ? first : second, name)));
    await expect.poll(() => receiver.received.length, SOON).toBe(names.length);
    expect(new Set(receiver.received.map((one) => one.id)).size).toBe(names.length);
  });

  const AT = "2026-06-01T12:00:00.000Z";
  const EVENT = { organizationId: "org_1", type: "robot.registered", at: AT, data: () => ({}) } as const;
  const WEBHOOK = webhookRow();

  /** Two replicas' stores, with an organization. */
  async function openStores() {
    const location = await databases.withSchema();
    const [first, second] = [await openStore(location, testMachine), await openStore(location, testMachine)];
    onTestFinished(async () => {
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
    });
    const organization = { id: "org_1", name: "lab", created_at: AT };
    await first.write((transaction) => transaction.insertInto("organizations").values(organization).execute());
    return { first, second };
  }

  it("webhook added while the organization gets robots → neither waits for the other's commit", async () => {
    const { first, second } = await openStores();
    const robot = (name: string) => robotRow({ id: `rob_${name}`, organization_id: "org_1", name });
    await first.write(async (transaction) => {
      await transaction.insertInto("robots").values(robot("r1")).execute();
      expect(await second.write((other) => addWebhook(other, WEBHOOK, 1))).toBe(true);
    });
    await second.write(async (transaction) => {
      expect(await addWebhook(transaction, { ...WEBHOOK, id: "wh_2" }, 2)).toBe(true);
      await first.write((other) => other.insertInto("robots").values(robot("r2")).execute());
    });
  });

  it("webhook deleted while an event is added for it → the deletion waits, and takes the event along", async () => {
    const { first, second } = await openStores();
    await first.write((transaction) => transaction.insertInto("webhooks").values(WEBHOOK).execute());
    const newId = createIds(testMachine.clock, testMachine.random);
    const deleted = await first.write(async (transaction) => {
      await announce(transaction, { newId }, EVENT);
      return { later: second.write((other) => other.deleteFrom("webhooks").where("id", "=", WEBHOOK.id).execute()) };
    });
    await deleted.later;
    expect(await first.reader.selectFrom("webhook_outbox").select("id").execute()).toEqual([]);
  });

  it("replica killed between sending and recording → another one sends again, with the same id", async () => {
    const { url: database } = await databases.withSchema();
    const folder = testFolder("killed");
    const receiver = await startReceiver();
    // The receiver has the event, but the sender gets no answer.
    receiver.answer = () => {};
    const doomed = await serve(database, folder);
    const send = (method: string, path: string, body?: unknown) =>
      fetch(doomed.url + path, {
        method,
        headers: { authorization: `Bearer ${doomed.key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    await createWebhook({ send }, receiver.url);
    await setUp({ send }, "arm-1");
    await expect.poll(() => receiver.received.length, SOON).toBe(1);
    await doomed.kill();
    receiver.answer = (response) => void response.writeHead(204).end();
    await using _survivor = await startService({
      store: { kind: "postgres", url: database },
      dataDirectory: folder,
      clock: { ...systemClock, wallMs: () => systemClock.wallMs() + AFTER_THE_LEASE_MS },
      configuration: { webhooks: LOCAL },
    });
    await expect.poll(() => receiver.received.length, SOON).toBe(2);
    expect(receiver.received.map((one) => one.id)).toEqual([receiver.received[0]?.id, receiver.received[0]?.id]);
  });
});
