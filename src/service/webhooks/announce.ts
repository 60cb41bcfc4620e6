import type { EventType } from "../../api/wire/event-types.ts";
import type { NewId } from "../kernel/ids.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

type Data = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/** An event, without ids of its own. */
export interface Announced {
  readonly organizationId: string;
  readonly type: EventType;
  /** ISO 8601. */
  readonly at: string;
  /** Ids, names, and what changed; never a secret. Called only if a webhook wants the event. */
  readonly data: () => Data | Promise<Data>;
}

/** Receivers may rely on this. */
const BODY_BYTES_MAXIMUM = 16 * 1024;

/**
 * Enters an event for each webhook that wants it, in the transaction that the event tells of, or counts it for a webhook that is full.
 * Without a webhook that costs one query by an index.
 */
export async function announce(
  transaction: Transaction,
  { newId }: { readonly newId: NewId },
  { organizationId, type, at, data }: Announced,
): Promise<void> {
  const listening = await findListening(transaction, { organizationId });
  const wanting = listening.filter(({ events }) => wants(events, type));
  for (const { id, full_since: fullSince } of wanting) if (fullSince !== null) await countDropped(transaction, id);
  const open = wanting.filter(({ full_since: fullSince }) => fullSince === null);
  if (open.length === 0) return;
  const body = printEvent(type, at, await data());
  const eventId = newId("evt");
  const rows = open.map(({ id }) =>
    newDelivery({ id: newId("whd"), organizationId, webhookId: id, eventId, type, body }, at),
  );
  await transaction.insertInto("webhook_deliveries").values(rows).execute();
}

/** Whether a webhook with these events, a JSON array or null for all, wants a type. */
export function wants(events: string | null, type: EventType): boolean {
  const wanted: unknown = events === null ? null : JSON.parse(events);
  return wanted === null || (Array.isArray(wanted) && wanted.includes(type));
}

/** What is sent and signed. What does not fit is left out: the receiver can ask for it by the ids. */
export function printEvent(type: string, at: string, data: Data): string {
  const whole = JSON.stringify({ type, timestamp: at, data });
  if (Buffer.byteLength(whole) <= BODY_BYTES_MAXIMUM) return whole;
  const ids = Object.fromEntries(Object.entries(data).filter(([name]) => name.endsWith("_id")));
  return JSON.stringify({ type, timestamp: at, data: { ...ids, is_shortened: true } });
}

export function newDelivery(
  of: Readonly<Record<"id" | "organizationId" | "webhookId" | "eventId" | "type" | "body", string>>,
  at: string,
): Tables["webhook_deliveries"] {
  return {
    id: of.id,
    organization_id: of.organizationId,
    webhook_id: of.webhookId,
    event_id: of.eventId,
    event_type: of.type,
    body: of.body,
    status: "pending",
    attempts: 0,
    created_at: at,
    next_attempt_at: at,
    claim_id: null,
    last_attempt_at: null,
    last_status: null,
    last_error: null,
  };
}

/** Prepared, because new robots ask it in their registration. */
const findListening = prepare<
  { readonly organizationId: string },
  Pick<Tables["webhooks"], "id" | "events" | "full_since">
>((database, parameter) =>
  database
    .selectFrom("webhooks")
    .select(["id", "events", "full_since"])
    .where("organization_id", "=", parameter("organizationId"))
    .where("removed_at", "is", null)
    .where("disabled_at", "is", null)
    .orderBy("id"),
);

/** Counts nothing while another transaction counts: robots that register at the same time must not wait for each other's commits. */
async function countDropped(transaction: Transaction, id: string): Promise<void> {
  const free = transaction.selectFrom("webhooks").select("id").where("id", "=", id).forNoKeyUpdate().skipLocked();
  await transaction
    .updateTable("webhooks")
    .set(({ eb }) => ({ dropped_events: eb("dropped_events", "+", 1) }))
    .where("id", "=", free)
    .execute();
}
