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
 * Adds an event to the outbox for each webhook that wants it, in the transaction that the event tells of. Without a webhook that costs one
 * query by an index.
 */
export async function announce(
  transaction: Transaction,
  { newId }: { readonly newId: NewId },
  { organizationId, type, at, data }: Announced,
): Promise<void> {
  const webhooks = await findWebhooks(transaction, { organizationId });
  const wanting = webhooks.filter(({ events }) => wants(events, type));
  if (wanting.length === 0) return;
  const body = printEvent(type, at, await data());
  const eventId = newId("evt");
  const rows = wanting.map(({ id }): Tables["webhook_outbox"] => ({
    id: newId("whd"),
    webhook_id: id,
    event_id: eventId,
    body,
    attempts: 0,
    next_attempt_at: at,
  }));
  await transaction.insertInto("webhook_outbox").values(rows).execute();
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

/** Prepared, because new robots ask it in their registration. The lock makes the deletion of a webhook wait for its events. */
const findWebhooks = prepare<{ readonly organizationId: string }, Pick<Tables["webhooks"], "id" | "events">>(
  (database, parameter) =>
    database
      .selectFrom("webhooks")
      .select(["id", "events"])
      .where("organization_id", "=", parameter("organizationId"))
      .orderBy("id")
      .forKeyShare(),
);
