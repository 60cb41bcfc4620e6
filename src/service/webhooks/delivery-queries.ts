import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { Claimed } from "./rules.ts";

/** An attempt that is about to begin. */
export interface Claim {
  readonly id: string;
  /** ISO 8601, as the members below. */
  readonly now: string;
  /** Times further in the future come from a wrong clock. */
  readonly horizon: string;
  /** When the claim ends, if the process dies. */
  readonly expiresAt: string;
}

/** Webhooks with something to deliver, in the order of their ids. */
export function listDueWebhooks(
  reader: Reader,
  claim: Pick<Claim, "now" | "horizon">,
): Promise<Pick<Tables["webhooks"], "id" | "organization_id" | "failing_since">[]> {
  return reader
    .selectFrom("webhooks")
    .select(["id", "organization_id", "failing_since"])
    .where("removed_at", "is", null)
    .where("disabled_at", "is", null)
    .where(({ exists, ref }) => exists(due(reader, claim).where("webhook_id", "=", ref("webhooks.id"))))
    .orderBy("id")
    .execute();
}

/** Claims the delivery of a webhook that has been due for longest. Other replicas skip it. */
export async function claimDelivery(
  transaction: Transaction,
  webhookId: string,
  claim: Claim,
): Promise<Claimed | undefined> {
  const delivery = await due(transaction, claim)
    .select(["organization_id", "webhook_id", "event_id", "body", "attempts"])
    .where("webhook_id", "=", webhookId)
    .orderBy("next_attempt_at")
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
  if (delivery === undefined) return undefined;
  const webhook = await transaction
    .selectFrom("webhooks")
    .select(["url", "secret", "failing_since"])
    .where("id", "=", webhookId)
    .where("removed_at", "is", null)
    .where("disabled_at", "is", null)
    .executeTakeFirst();
  if (webhook === undefined) return undefined;
  await transaction
    .updateTable("webhook_deliveries")
    .set({ claim_id: claim.id, next_attempt_at: claim.expiresAt })
    .where("id", "=", delivery.id)
    .execute();
  return { ...delivery, ...webhook };
}

function due(reader: Reader, { now, horizon }: Pick<Claim, "now" | "horizon">) {
  return reader
    .selectFrom("webhook_deliveries")
    .select("webhook_deliveries.id")
    .where("status", "=", "pending")
    .where(({ or, eb }) => or([eb("next_attempt_at", "<=", now), eb("next_attempt_at", ">", horizon)]));
}

/** Ends an attempt. @returns false if the claim had ended, so that another replica delivers, too. */
export async function endAttempt(
  transaction: Transaction,
  { id }: Pick<Claimed, "id">,
  claimId: string,
  change: Partial<Tables["webhook_deliveries"]>,
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable("webhook_deliveries")
    .set({ ...change, claim_id: null })
    .where("id", "=", id)
    .where("claim_id", "=", claimId)
    .where("status", "=", "pending")
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** The receiver of an attempt. */
type Attempted = Pick<Claimed, "webhook_id" | "url">;

/** Whether a webhook was given no other URL since the attempt began: another is not judged by it. Its row stays locked. */
export async function isStillReceiver(
  transaction: Transaction,
  { webhook_id: webhookId, url }: Attempted,
): Promise<boolean> {
  const webhooks = transaction.selectFrom("webhooks").select("id").where("id", "=", webhookId);
  return (await webhooks.where("url", "=", url).forUpdate().executeTakeFirst()) !== undefined;
}

/** Notes that a webhook works, or when it first failed. Writes only if that is new. */
export async function noteHealth(
  transaction: Transaction,
  { webhook_id: webhookId, url }: Attempted,
  failingSince: string | null,
): Promise<void> {
  await transaction
    .updateTable("webhooks")
    .set({ failing_since: failingSince })
    .where("id", "=", webhookId)
    .where("url", "=", url)
    .where("failing_since", failingSince === null ? "is not" : "is", null)
    .execute();
}

/** @returns false if it was disabled or deleted before. */
export async function disableWebhook(
  transaction: Transaction,
  webhookId: string,
  reason: NonNullable<Tables["webhooks"]["disabled_reason"]>,
  at: string,
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable("webhooks")
    .set({ disabled_at: at, disabled_reason: reason })
    .where("id", "=", webhookId)
    .where("disabled_at", "is", null)
    .where("removed_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** What becomes of the pending deliveries of a disabled webhook. */
export const GIVEN_UP = { status: "failed", claim_id: null, last_error: "the webhook was disabled" } as const;

/** Gives up what a webhook has pending. */
export async function giveUpPending(transaction: Transaction, webhookId: string): Promise<void> {
  const pending = transaction.updateTable("webhook_deliveries").set(GIVEN_UP).where("status", "=", "pending");
  await pending.where("webhook_id", "=", webhookId).execute();
}
