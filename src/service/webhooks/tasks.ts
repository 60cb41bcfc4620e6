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
/** How long the row of a deleted webhook stays: another replica's transaction that saw the webhook may add one more delivery. */
const REMOVED_KEPT_MS = 60 * 60 * 1000;

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
      const bounds = { oldest: firstIdAt("whd", nowMs - KEPT_MS), removedBefore: isoTime(nowMs - REMOVED_KEPT_MS) };
      for (let done = BATCH; done >= BATCH && !signal.aborted;) {
        if (!(await isAnythingLeft(store.reader, bounds))) return;
        done = await store.write((transaction) => tidy(transaction, bounds));
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

interface Bounds {
  /** The first id of a delivery that is not old. */
  readonly oldest: string;
  /** ISO 8601: rows of webhooks deleted before go. */
  readonly removedBefore: string;
}

/** Without a write, which would cost a commit each time. */
async function isAnythingLeft(reader: Reader, { oldest, removedBefore }: Bounds): Promise<boolean> {
  const found = await Promise.all([
    endedPending(reader).limit(1).executeTakeFirst(),
    outdated(reader, oldest).limit(1).executeTakeFirst(),
    orphaned(reader).limit(1).executeTakeFirst(),
    empty(reader, removedBefore).limit(1).executeTakeFirst(),
  ]);
  return found.some((row) => row !== undefined);
}

/** @returns the largest number of rows that one step changed. */
async function tidy(transaction: Transaction, { oldest, removedBefore }: Bounds): Promise<number> {
  const ended = await transaction
    .updateTable("webhook_deliveries")
    .set(GIVEN_UP)
    .where("id", "in", endedPending(transaction).limit(BATCH))
    .executeTakeFirst();
  const old = await transaction
    .deleteFrom("webhook_deliveries")
    .where("id", "in", outdated(transaction, oldest).limit(BATCH))
    .executeTakeFirst();
  const orphans = await transaction
    .deleteFrom("webhook_deliveries")
    .where("id", "in", orphaned(transaction).limit(BATCH))
    .executeTakeFirst();
  await transaction.deleteFrom("webhooks").where("id", "in", empty(transaction, removedBefore)).execute();
  return Math.max(Number(ended.numUpdatedRows), Number(old.numDeletedRows), Number(orphans.numDeletedRows));
}

function endedPending(reader: Reader) {
  const disabled = webhookIds(reader).where("disabled_at", "is not", null).where("removed_at", "is", null);
  return deliveryIds(reader).where("delivery.status", "=", "pending").where("delivery.webhook_id", "in", disabled);
}

/** Pending ones stay, so that a wrong clock loses no event. */
function outdated(reader: Reader, oldest: string) {
  return deliveryIds(reader).where("delivery.id", "<", oldest).where("delivery.status", "<>", "pending");
}

function orphaned(reader: Reader) {
  return deliveryIds(reader).where("delivery.webhook_id", "in", webhookIds(reader).where("removed_at", "is not", null));
}

/** Deleted webhooks without a delivery. */
function empty(reader: Reader, removedBefore: string) {
  return webhookIds(reader)
    .where("removed_at", "<", removedBefore)
    .where(({ exists, not, ref }) =>
      not(exists(deliveryIds(reader).where("delivery.webhook_id", "=", ref("webhooks.id")))),
    );
}

function deliveryIds(reader: Reader) {
  return reader.selectFrom("webhook_deliveries as delivery").select("delivery.id");
}

function webhookIds(reader: Reader) {
  return reader.selectFrom("webhooks").select("webhooks.id");
}
