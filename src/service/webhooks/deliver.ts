import { isoNow, isoTime } from "../../platform/clock.ts";
import { parseRetryAfter } from "../../platform/retry.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { Sent } from "../kernel/outgoing.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { createPruning } from "../kernel/tasks/pruning.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";
import type { Message, Sender } from "./receivers.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

export interface WebhookSettings {
  /** Hosts, addresses and networks (CIDR) that may be reached although they are not public. http only to hosts that stand here. */
  readonly allow: readonly string[];
  /** From the look-up of the name to the end of the answer. */
  readonly timeoutMs: number;
  /** How often due events are looked for. */
  readonly tickMs: number;
  /** Pauses before the second and each further attempt. */
  readonly retryMs: readonly number[];
  /** Events that wait for a webhook; of more, the oldest are deleted. */
  readonly pendingMaximum: number;
}

export const WEBHOOK_SETTINGS: WebhookSettings = {
  allow: [],
  timeoutMs: 15 * SECOND_MS,
  tickMs: 500,
  // The schedule that the Standard Webhooks specification gives as an example.
  retryMs: [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS],
  pendingMaximum: 10_000,
};

/** Webhooks that this process sends to at the same time: one event each, so that a slow receiver delays no other. */
const AT_ONCE = 128;
/** Events in a row before other webhooks have their turn. */
const TURN = 16;
/** The lease of an event lasts this much longer than an attempt, so that its outcome can be written. */
const LEASE_SLACK_MS = 10 * SECOND_MS;
/** Random change of pauses, as a fraction: receivers that come back are not met by everything at once. */
const JITTER = 0.1;

/** Delivers events. */
interface Deliverer extends AsyncDisposable {
  readonly task: Task;
}

/** An event that this process sends, with what it needs of its webhook. */
type Leased = Tables["webhook_outbox"] &
  Pick<Tables["webhooks"], "organization_id" | "url" | "secret" | "previous_secret" | "previous_secret_until">;

/**
 * Delivers what is due, at least once. An attempt moves the time of the next one first: if the process dies before the outcome is written,
 * the event is due again then, and is sent under the same id. Dispose it after the loop that runs the task.
 */
export function createDeliverer(
  { store, machine }: Pick<OperationContext, "store" | "machine">,
  { timeoutMs, tickMs, retryMs }: WebhookSettings,
  sender: Sender,
): Deliverer {
  const { clock, random, log } = machine;
  const underway = new Map<string, Promise<void>>();

  /** Starts attempts, and does not wait for them. */
  async function startDue(signal: AbortSignal): Promise<void> {
    for (const id of await listDue(isoNow(clock))) {
      if (signal.aborted || underway.size >= AT_ONCE) return;
      if (underway.has(id)) continue;
      underway.set(
        id,
        takeTurn(id, signal).finally(() => underway.delete(id)),
      );
    }
  }

  /** Ids of webhooks with something to deliver; whose next event is due longest comes first. */
  async function listDue(now: string): Promise<readonly string[]> {
    const due = store.reader
      .selectFrom("webhook_outbox")
      .select("webhook_id")
      .where("next_attempt_at", "<=", now)
      .groupBy("webhook_id")
      .orderBy(({ fn }) => fn.min("next_attempt_at"));
    return (await due.execute()).map(({ webhook_id: id }) => id);
  }

  /** Never rejects. If an outcome cannot be written, the event is sent again. */
  async function takeTurn(webhookId: string, signal: AbortSignal): Promise<void> {
    try {
      for (let count = 0; count < TURN && !signal.aborted; count += 1) {
        const nowMs = clock.wallMs();
        const times = { now: isoTime(nowMs), until: isoTime(nowMs + timeoutMs + LEASE_SLACK_MS) };
        const event = await store.write((transaction) => lease(transaction, webhookId, times));
        if (event === undefined) return;
        const sent = await sender.send(await signedMessage(event, event.event_id, event.body, nowMs), signal);
        await store.write((transaction) => record(transaction, event, sent));
        // Where one fails, the next often waits for the timeout as well: others have their turn first.
        if (failureOf(sent) !== null) return;
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.warn("webhook_outcome_lost", { webhook_id: webhookId, reason });
    }
  }

  async function record(transaction: Transaction, event: Leased, sent: Sent): Promise<void> {
    const nowMs = clock.wallMs();
    if (sent.state === "abandoned") {
      // Without a lease another process may send it at once.
      return postpone(transaction, event, isoTime(nowMs));
    }
    const failure = failureOf(sent);
    // Before the event is locked: the deletion of a webhook locks both in this order.
    await noteOutcome(transaction, event.webhook_id, failure, isoTime(nowMs));
    const pauseMs = retryMs[event.attempts];
    if (failure === null || pauseMs === undefined) {
      await transaction.deleteFrom("webhook_outbox").where("id", "=", event.id).execute();
    } else {
      const afterMs = Math.max(askedPauseMs(sent, nowMs), pauseMs * (1 + (random.unit() * 2 - 1) * JITTER));
      await postpone(transaction, { ...event, attempts: event.attempts + 1 }, isoTime(nowMs + afterMs));
    }
  }

  return {
    task: { name: "deliver-webhooks", intervalMs: tickMs, run: startDue },
    async [Symbol.asyncDispose]() {
      await Promise.all(underway.values());
      await sender[Symbol.asyncDispose]();
    },
  };
}

/** Takes the event of a webhook that has been due for longest, until a time (ISO 8601). Other replicas skip it. */
export async function lease(
  transaction: Transaction,
  webhookId: string,
  { now, until }: { readonly now: string; readonly until: string },
): Promise<Leased | undefined> {
  const event = await transaction
    .selectFrom("webhook_outbox")
    .selectAll()
    .where("webhook_id", "=", webhookId)
    .where("next_attempt_at", "<=", now)
    .orderBy("next_attempt_at")
    .orderBy("id")
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
  if (event === undefined) return undefined;
  const webhook = await transaction
    .selectFrom("webhooks")
    .select(["organization_id", "url", "secret", "previous_secret", "previous_secret_until"])
    .where("id", "=", webhookId)
    .executeTakeFirstOrThrow();
  await postpone(transaction, event, until);
  return { ...event, ...webhook };
}

async function postpone(
  transaction: Transaction,
  { id, attempts }: Pick<Leased, "id" | "attempts">,
  until: string,
): Promise<void> {
  const change = { attempts, next_attempt_at: until };
  await transaction.updateTable("webhook_outbox").set(change).where("id", "=", id).execute();
}

type Signing = Pick<Tables["webhooks"], "url" | "secret" | "previous_secret" | "previous_secret_until">;

/** A request that both secrets sign while the receiver may still have the former one. */
export async function signedMessage(webhook: Signing, eventId: string, body: string, nowMs: number): Promise<Message> {
  // Loaded at the first event, as undici is: a service without webhooks needs neither.
  const { Webhook } = await import("standardwebhooks");
  const at = new Date(nowMs);
  const { url, secret, previous_secret: previous, previous_secret_until: until } = webhook;
  const secrets = previous !== null && until !== null && isoTime(nowMs) < until ? [secret, previous] : [secret];
  const headers = {
    "webhook-id": eventId,
    "webhook-timestamp": String(Math.floor(nowMs / SECOND_MS)),
    "webhook-signature": secrets.map((each) => new Webhook(each).sign(eventId, at, body)).join(" "),
  };
  return { url, headers, body };
}

/** Why an attempt failed, in a few words; null if it did not. */
export function failureOf(sent: Sent): string | null {
  switch (sent.state) {
    case "answered":
      return sent.status >= 200 && sent.status < 300 ? null : `answered ${sent.status}`;
    case "failed":
      return sent.reason;
    case "abandoned":
      return "given up";
  }
}

/** The pause that a receiver which is overloaded or closed asks for, an hour at most. */
function askedPauseMs(sent: Sent, nowMs: number): number {
  if (sent.state !== "answered" || (sent.status !== 429 && sent.status !== 503)) return 0;
  return parseRetryAfter(sent.retryAfter, sent.date, nowMs) ?? 0;
}

/** Shows on a webhook why its last attempt failed, until one succeeds. */
export async function noteOutcome(
  transaction: Transaction,
  webhookId: string,
  failure: string | null,
  at: string,
): Promise<void> {
  const webhook = transaction.updateTable("webhooks").where("id", "=", webhookId);
  await (
    failure === null
      ? webhook.set({ last_error: null, last_error_at: null }).where("last_error", "is not", null)
      : webhook.set({ last_error: failure, last_error_at: at })
  ).execute();
}

const PRUNE_MS = 30 * SECOND_MS;

/** Deletes the oldest events of webhooks for which too many wait. */
export function createPruneOutbox(
  context: Pick<OperationContext, "store" | "machine">,
  { pendingMaximum }: WebhookSettings,
): Task {
  return createPruning(context, { name: "prune-webhooks", intervalMs: PRUNE_MS }, async ({ transaction, maximum }) => {
    let most = 0;
    for (const { id } of await transaction.selectFrom("webhooks").select("id").orderBy("id").execute()) {
      const waiting = transaction.selectFrom("webhook_outbox").where("webhook_id", "=", id);
      const beyond = waiting.select("id").orderBy("id", "desc").offset(pendingMaximum).limit(maximum);
      const { numDeletedRows } = await transaction
        .deleteFrom("webhook_outbox")
        .where("id", "in", beyond)
        .executeTakeFirst();
      if (numDeletedRows === 0n) continue;
      context.machine.log.warn("webhook_events_dropped", { webhook_id: id, count: Number(numDeletedRows) });
      most = Math.max(most, Number(numDeletedRows));
    }
    return most;
  });
}
