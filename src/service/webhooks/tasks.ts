import { isoTime } from "../../platform/clock.ts";
import { firstIdAt } from "../kernel/ids.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { Task } from "../kernel/tasks/task.ts";
import { GIVEN_UP } from "./delivery-queries.ts";
import { KEPT_MS, type WebhookSettings } from "./rules.ts";

const INTERVAL_MS = 10_000;
/** Rows per transaction. */
const BATCH = 500;

/** Notes which webhooks are full, gives up what disabled ones had pending, and deletes what is old or deleted. */
export function createTendWebhooks(
  { store, machine: { clock, log } }: Pick<OperationContext, "store" | "machine">,
  { pendingMaximum }: WebhookSettings,
): Task {
  return {
    name: "tend-webhooks",
    intervalMs: INTERVAL_MS,
    ignoresNudges: true,
    async run(signal) {
      const nowMs = clock.wallMs();
      for (const { id, organization_id: organizationId, full_since: before } of await listLive(store.reader)) {
        const isFull = await hasPending(store.reader, id, pendingMaximum);
        if (isFull === (before !== null)) continue;
        const since = isFull ? isoTime(nowMs) : null;
        await store.write((transaction) =>
          transaction.updateTable("webhooks").set({ full_since: since }).where("id", "=", id).execute(),
        );
        const fields = { organization_id: organizationId, webhook_id: id };
        if (isFull) log.warn("webhook_full", fields);
        else log.info("webhook_no_longer_full", fields);
      }
      const oldest = firstIdAt("whd", nowMs - KEPT_MS);
      for (let done = BATCH; done >= BATCH && !signal.aborted;) {
        if (!(await isAnythingLeft(store.reader, oldest))) return;
        done = await store.write((transaction) => tidy(transaction, oldest));
      }
    },
  };
}

function listLive(reader: Reader): Promise<Pick<Tables["webhooks"], "id" | "organization_id" | "full_since">[]> {
  return reader
    .selectFrom("webhooks")
    .select(["id", "organization_id", "full_since"])
    .where("removed_at", "is", null)
    .where("disabled_at", "is", null)
    .execute();
}

async function hasPending(reader: Reader, webhookId: string, count: number): Promise<boolean> {
  const last = await reader
    .selectFrom("webhook_deliveries")
    .select("webhook_id")
    .where("webhook_id", "=", webhookId)
    .where("status", "=", "pending")
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst();
  return last !== undefined;
}

/** Without a write, which would cost a commit each time. */
async function isAnythingLeft(reader: Reader, oldest: string): Promise<boolean> {
  const [ended, old, removed] = await Promise.all([
    endedPending(reader).limit(1).executeTakeFirst(),
    outdated(reader, oldest).limit(1).executeTakeFirst(),
    reader.selectFrom("webhooks").select("id").where("removed_at", "is not", null).limit(1).executeTakeFirst(),
  ]);
  return ended !== undefined || old !== undefined || removed !== undefined;
}

/** @returns the largest number of rows that one step changed. */
async function tidy(transaction: Transaction, oldest: string): Promise<number> {
  const ended = await transaction
    .updateTable("webhook_deliveries")
    .set(GIVEN_UP)
    .where("id", "in", endedPending(transaction).limit(BATCH))
    .executeTakeFirst();
  const old = await transaction
    .deleteFrom("webhook_deliveries")
    .where("id", "in", outdated(transaction, oldest).limit(BATCH))
    .executeTakeFirst();
  const removed = transaction.selectFrom("webhooks").select("webhooks.id").where("removed_at", "is not", null);
  const orphans = await transaction
    .deleteFrom("webhook_deliveries")
    .where("id", "in", (query) =>
      query
        .selectFrom("webhook_deliveries as delivery")
        .select("delivery.id")
        .where("delivery.webhook_id", "in", removed)
        .limit(BATCH),
    )
    .executeTakeFirst();
  await transaction
    .deleteFrom("webhooks")
    .where("removed_at", "is not", null)
    .where("id", "not in", (query) => query.selectFrom("webhook_deliveries").select("webhook_id").distinct())
    .execute();
  return Math.max(Number(ended.numUpdatedRows), Number(old.numDeletedRows), Number(orphans.numDeletedRows));
}

function endedPending(reader: Reader) {
  return reader
    .selectFrom("webhook_deliveries as delivery")
    .innerJoin("webhooks", "webhooks.id", "delivery.webhook_id")
    .select("delivery.id")
    .where("delivery.status", "=", "pending")
    .where("webhooks.disabled_at", "is not", null)
    .where("webhooks.removed_at", "is", null);
}

/** Pending ones stay, so that a wrong clock loses no event. */
function outdated(reader: Reader, oldest: string) {
  return reader
    .selectFrom("webhook_deliveries as delivery")
    .select("delivery.id")
    .where("delivery.id", "<", oldest)
    .where("delivery.status", "<>", "pending");
}
