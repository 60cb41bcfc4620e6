import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, it, onTestFinished } from "vitest";

import { systemClock } from "../../../../src/platform/clock.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { announce } from "../../../../src/service/webhooks/announce.ts";
import { testFolder } from "../../../support/folder.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { WITHOUT_POSTGRES } from "../../../support/service/postgres.ts";
import { startService } from "../../../support/service/service.ts";
import { usePostgres } from "../../../support/service/stores.ts";
import { startServe } from "../service-process.ts";
import { createWebhook, deliveriesOf, LOCAL, setUp, startReceiver } from "./receiver.ts";

const SOON = { timeout: PATIENCE_MS, interval: 50 };
/** Another process takes over the attempt of a killed one after this time. */
const AFTER_THE_CLAIM_MS = 60_000;

/** A replica in a process of its own that may send to this machine. */
async function serve(database: string, folder: string) {
  const configuration = join(folder, "config.yaml");
  await writeFile(configuration, JSON.stringify({ webhooks: { allow: ["127.0.0.1"] } }));
  const keyFile = join(folder, "bootstrap-key");
  const replica = await startServe(keyFile, "--config", configuration, "--database", database);
  onTestFinished(() => replica.kill());
  return replica;
}

describe.skipIf(WITHOUT_POSTGRES)("webhooks of several replicas", () => {
  const databases = usePostgres();

  it("two replicas → each event is delivered once", async () => {
    const store = await databases.withSchema();
    const dataDirectory = testFolder("replicas");
    const receiver = await startReceiver();
    const options = { store, dataDirectory, configuration: { rateLimit: null, webhooks: LOCAL } };
    await using first = await startService(options);
    await using second = await startService(options);
    const { id } = await createWebhook(first, receiver.url);
    const names = Array.from({ length: 40 }, (_, index) => `arm-${index}`);
    await Promise.all(names.map((name, index) => setUp(index % 2 === 0 ? first : second, name)));
    const statuses = async () => (await deliveriesOf(second, id)).map(({ status }) => status);
    await expect.poll(statuses, SOON).toEqual(names.map(() => "delivered"));
    expect(receiver.received).toHaveLength(names.length);
    expect(new Set(receiver.received.map((one) => one.id)).size).toBe(names.length);
  });

  it("concurrent registrations, webhook full → counting the dropped event does not block", async () => {
    const { url: database } = await databases.withSchema();
    const location = { kind: "postgres", url: database } as const;
    await using first = await openStore(location, testMachine);
    await using second = await openStore(location, testMachine);
    const at = "2026-06-01T12:00:00.000Z";
    await first.write(async (transaction) => {
      await transaction.insertInto("organizations").values({ id: "org_1", name: "lab", created_at: at }).execute();
      await transaction
        .insertInto("webhooks")
        .values({
          id: "wh_1",
          organization_id: "org_1",
          url: "https://receiver.example",
          secret: "whsec_",
          events: null,
          created_at: at,
          failing_since: null,
          full_since: at,
          dropped_events: 0,
          disabled_at: null,
          disabled_reason: null,
          removed_at: null,
        })
        .execute();
    });
    const event = { organizationId: "org_1", type: "robot.registered", at, data: () => ({}) } as const;
    const newId = () => "evt_1";
    await first.write(async (transaction) => {
      await announce(transaction, { newId }, event);
      await second.write((other) => announce(other, { newId }, event));
    });
    const { dropped_events: dropped } = await first.reader
      .selectFrom("webhooks")
      .select("dropped_events")
      .executeTakeFirstOrThrow();
    expect(dropped).toBe(1);
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
    const { id } = await createWebhook({ send }, receiver.url);
    await setUp({ send }, "arm-1");
    await expect.poll(() => receiver.received.length, SOON).toBe(1);
    await doomed.kill();
    receiver.answer = (response) => void response.writeHead(204).end();
    await using survivor = await startService({
      store: { kind: "postgres", url: database },
      dataDirectory: folder,
      clock: { ...systemClock, wallMs: () => systemClock.wallMs() + AFTER_THE_CLAIM_MS },
      configuration: { webhooks: LOCAL },
    });
    await expect.poll(async () => (await deliveriesOf(survivor, id))[0]?.status, SOON).toBe("delivered");
    expect(receiver.received.map((one) => one.id)).toEqual([receiver.received[0]?.id, receiver.received[0]?.id]);
  });
});
