import { inRange, type PageRange } from "../kernel/lists/page-range.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { lockOrganization } from "../organizations/index.ts";

export type WebhookRow = Tables["webhooks"];
export type DeliveryRow = Tables["webhook_deliveries"];

/** The webhooks of an organization, oldest first, disabled ones too. */
export function listWebhookRows(reader: Reader, organizationId: string, range: PageRange): Promise<WebhookRow[]> {
  return inRange(ofOrganization(reader, organizationId), "id", range).execute();
}

export function findWebhook(reader: Reader, organizationId: string, id: string): Promise<WebhookRow | undefined> {
  return ofOrganization(reader, organizationId).where("id", "=", id).executeTakeFirst();
}

/** With its row locked, so that it is not deleted meanwhile. */
export function lockWebhook(
  transaction: Transaction,
  organizationId: string,
  id: string,
): Promise<WebhookRow | undefined> {
  return ofOrganization(transaction, organizationId).where("id", "=", id).forUpdate().executeTakeFirst();
}

/**
 * Adds a webhook, unless the organization has `maximum`.
 *
 * @returns whether it was added.
 */
export async function addWebhook(transaction: Transaction, row: WebhookRow, maximum: number): Promise<boolean> {
  const { organization_id: organizationId } = row;
  await lockOrganization(transaction, organizationId);
  const there = await ofOrganization(transaction, organizationId).clearSelect().select("id").limit(maximum).execute();
  if (there.length >= maximum) return false;
  await transaction.insertInto("webhooks").values(row).execute();
  return true;
}

/** Forgets the secret at once; a task deletes the rest. */
export async function removeWebhook(transaction: Transaction, id: string, at: string): Promise<void> {
  await transaction.updateTable("webhooks").set({ removed_at: at, secret: "" }).where("id", "=", id).execute();
}

/** Deliveries of a webhook, newest first: those before the id `after`. */
export function listDeliveryRows(reader: Reader, webhookId: string, range: PageRange): Promise<DeliveryRow[]> {
  const query = reader.selectFrom("webhook_deliveries").selectAll().where("webhook_id", "=", webhookId);
  return inRange(query, "id", range, "newest").execute();
}

export function findDelivery(reader: Reader, webhookId: string, id: string): Promise<DeliveryRow | undefined> {
  return reader
    .selectFrom("webhook_deliveries")
    .selectAll()
    .where("webhook_id", "=", webhookId)
    .where("id", "=", id)
    .executeTakeFirst();
}

/** Makes a delivery due as if it were new; undefined if the webhook has none with this id. */
export function restartDelivery(
  transaction: Transaction,
  webhookId: string,
  id: string,
  at: string,
): Promise<DeliveryRow | undefined> {
  return transaction
    .updateTable("webhook_deliveries")
    .set({ status: "pending", attempts: 0, next_attempt_at: at, claim_id: null })
    .where("webhook_id", "=", webhookId)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirst();
}

function ofOrganization(reader: Reader, organizationId: string) {
  return reader
    .selectFrom("webhooks")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("removed_at", "is", null);
}
