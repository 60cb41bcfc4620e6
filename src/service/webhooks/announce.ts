import type { EventType } from "../../api/wire/event-types.ts";
import type { NewId } from "../kernel/ids.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Reader, Store, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { OperationContext } from "../kernel/operation.ts";

type Data = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/** An event, without ids of its own. */
interface Announced {
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

/** An organization that wants to be told of states, and since when. */
export interface Listening {
  readonly organizationId: string;
  /** ISO 8601: when the first of these webhooks was created. */
  readonly since: string;
}

/** The organizations with a webhook for any of these events. */
export async function listListening(reader: Reader, types: readonly EventType[]): Promise<readonly Listening[]> {
  const webhooks = await reader
    .selectFrom("webhooks")
    .select(["organization_id", "events", "created_at"])
    .orderBy("created_at")
    .execute();
  const since = new Map<string, string>();
  for (const { organization_id: organizationId, events, created_at: createdAt } of webhooks) {
    const isFirst = !since.has(organizationId);
    if (isFirst && types.some((type) => wants(events, type))) since.set(organizationId, createdAt);
  }
  return [...since].map(([organizationId, first]) => ({ organizationId, since: first }));
}

/** A state that differs from the one that webhooks were last told; `before` is null if they were told none. */
interface NewState extends Pick<Tables["reported_states"], "subject_id" | "organization_id" | "kind" | "state"> {
  readonly before: string | null;
}

/** Notes a state as told, and announces it in the same transaction; null only notes it. Another replica may have been quicker. */
export async function report(
  { store, newId }: Pick<OperationContext, "store" | "newId">,
  change: NewState,
  at: string,
  event: Pick<Announced, "type" | "data"> | null,
): Promise<void> {
  const { organization_id: organizationId } = change;
  await store.write(async (transaction) => {
    if (!(await noteReported(transaction, change, at)) || event === null) return;
    await announce(transaction, { newId }, { organizationId, at, ...event });
  });
}

/** @returns false if another replica was quicker. */
async function noteReported(transaction: Transaction, { before, ...reported }: NewState, at: string): Promise<boolean> {
  if (before === null) {
    const added = await transaction
      .insertInto("reported_states")
      .values({ ...reported, reported_at: at })
      .onConflict((conflict) => conflict.doNothing())
      .returning("subject_id")
      .executeTakeFirst();
    return added !== undefined;
  }
  const { numUpdatedRows } = await transaction
    .updateTable("reported_states")
    .set({ state: reported.state, reported_at: at })
    .where("subject_id", "=", reported.subject_id)
    .where("state", "=", before)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Forgets the state told of a subject that is removed in the same transaction. */
export async function forgetReport(transaction: Transaction, subjectId: string): Promise<void> {
  await transaction.deleteFrom("reported_states").where("subject_id", "=", subjectId).execute();
}

/** Rows per transaction; the next run forgets more. */
const BATCH = 200;

/** Forgets states told to organizations that listen no more: a later webhook begins with what is then. */
export async function forgetReports(
  store: Pick<Store, "reader" | "write">,
  kind: NewState["kind"],
  still: readonly Listening[],
): Promise<void> {
  const listening = still.map(({ organizationId }) => organizationId);
  const told = store.reader.selectFrom("reported_states").select("subject_id").where("kind", "=", kind).limit(BATCH);
  const outdated = listening.length === 0 ? told : told.where("organization_id", "not in", listening);
  const ids = (await outdated.execute()).map(({ subject_id: id }) => id);
  if (ids.length === 0) return;
  await store.write((transaction) =>
    transaction.deleteFrom("reported_states").where("subject_id", "in", ids).execute(),
  );
}
