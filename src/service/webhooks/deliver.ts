import { isoTime } from "../../platform/clock.ts";
import type { OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Task } from "../kernel/tasks/task.ts";
import {
  type Claim,
  claimDelivery,
  disableWebhook,
  endAttempt,
  isStillReceiver,
  listDueWebhooks,
  noteHealth,
} from "./delivery-queries.ts";
import { type Claimed, type Ended, judge, type Verdict, type WebhookSettings } from "./rules.ts";
import type { Sent } from "../kernel/outgoing.ts";
import type { Sender } from "./receivers.ts";

/** Concurrent attempts of this process, for a webhook, an organization, its receivers that fail, and in all: a slow receiver takes only its own. */
const AT_ONCE = { webhook: 2, organization: 8, failing: 4, all: 128 } as const;
/** Deliveries in a row before other webhooks have their turn. */
const TURN = 16;
/** A claim lasts this much longer than an attempt, so that its outcome can be written. */
const CLAIM_SLACK_MS = 10_000;
/** A delivery that is due later than this times the longest pause got its time from a wrong clock. */
const HORIZON_RATIO = 2;

/** Delivers events. */
export interface Deliverer extends AsyncDisposable {
  readonly task: Task;
}

type DelivererContext = Pick<OperationContext, "store" | "machine" | "newId">;

/**
 * Delivers what is due, at least once: an outcome is recorded after the attempt, so that a process which dies in between leaves a claim that
 * ends, and the event is sent again under the same id. Dispose it after the loop that runs the task.
 */
export function createDeliverer(context: DelivererContext, settings: WebhookSettings, sender: Sender): Deliverer {
  const { store, machine, newId } = context;
  const { clock, random, log } = machine;
  const underway = new Map<Promise<void>, Pick<Claimed, "webhook_id" | "organization_id" | "failing_since">>();
  const horizonMs = HORIZON_RATIO * Math.max(settings.timeoutMs + CLAIM_SLACK_MS, ...settings.retryMs);
  let lastServed = "";

  function newClaim(): Claim {
    const nowMs = clock.wallMs();
    return {
      id: Buffer.from(random.bytes(12)).toString("hex"),
      now: isoTime(nowMs),
      horizon: isoTime(nowMs + horizonMs),
      expiresAt: isoTime(nowMs + settings.timeoutMs + CLAIM_SLACK_MS),
    };
  }

  /** Starts attempts, and does not wait for them. Webhooks take turns where they are too many. */
  async function startDue(signal: AbortSignal): Promise<void> {
    if (underway.size >= AT_ONCE.all) return;
    const webhooks = await listDueWebhooks(store.reader, newClaim());
    const next = webhooks.findIndex(({ id }) => id > lastServed);
    const inTurn = next === -1 ? webhooks : [...webhooks.slice(next), ...webhooks.slice(0, next)];
    for (const { id, organization_id: organizationId, failing_since: failingSince } of inTurn) {
      if (signal.aborted || underway.size >= AT_ONCE.all) return;
      const running = [...underway.values()];
      if (running.filter((one) => one.webhook_id === id).length >= AT_ONCE.webhook) continue;
      const ofOrganization = running.filter((one) => one.organization_id === organizationId);
      if (ofOrganization.length >= AT_ONCE.organization) continue;
      const failing = ofOrganization.filter((one) => one.failing_since !== null);
      if (failingSince !== null && failing.length >= AT_ONCE.failing) continue;
      lastServed = id;
      const turn = takeTurn(id, signal).finally(() => underway.delete(turn));
      underway.set(turn, { webhook_id: id, organization_id: organizationId, failing_since: failingSince });
    }
  }

  /** Never rejects. If an outcome cannot be written it is lost, and the claim ends. */
  async function takeTurn(webhookId: string, signal: AbortSignal): Promise<void> {
    try {
      for (let count = 0; count < TURN && !signal.aborted; count += 1) {
        const claim = newClaim();
        const delivery = await store.write((transaction) => claimDelivery(transaction, webhookId, claim));
        if (delivery === undefined) return;
        const sent = await attempt(delivery, signal);
        if (sent.state === "abandoned") return await release(delivery, claim);
        // Where one fails, the next often waits for the timeout as well: others have their turn first.
        if ((await record(delivery, claim, sent)) !== "delivered") return;
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.warn("webhook_outcome_lost", { webhook_id: webhookId, reason });
    }
  }

  async function attempt({ event_id: eventId, url, secret, body }: Claimed, signal: AbortSignal): Promise<Sent> {
    // Loaded at the first event, as undici is: a service without webhooks needs neither.
    const { Webhook } = await import("standardwebhooks");
    const at = new Date(clock.wallMs());
    const headers = {
      "webhook-id": eventId,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign(eventId, at, body),
    };
    return sender.send({ url, headers, body }, signal);
  }

  async function release(delivery: Claimed, claim: Claim): Promise<void> {
    await store.write((transaction) => endAttempt(transaction, delivery, claim.id, { next_attempt_at: claim.now }));
  }

  async function record(delivery: Claimed, claim: Claim, sent: Ended): Promise<Verdict["state"]> {
    const { organization_id: organizationId, webhook_id: webhookId } = delivery;
    const nowMs = clock.wallMs();
    const at = isoTime(nowMs);
    const verdict = judge(delivery, sent, nowMs, settings, random.unit());
    const author = { auditId: newId("aud"), at, organizationId, actor: webhookId, requestId: null };
    const disabled = await store.write(async (transaction) => {
      if (verdict.state !== "delivered" && !(await isStillReceiver(transaction, delivery))) {
        await endAttempt(transaction, delivery, claim.id, { next_attempt_at: at });
        return null;
      }
      if (!(await endAttempt(transaction, delivery, claim.id, changeOf(verdict, sent, delivery, nowMs)))) return null;
      await noteHealth(transaction, delivery, verdict.state === "delivered" ? null : at);
      const reason = verdict.state === "failed" ? verdict.disables : null;
      if (reason === null || !(await disableWebhook(transaction, webhookId, reason, at))) return null;
      await audit(transaction, author, { action: "webhook.disable", subjectId: webhookId, details: { reason } });
      return reason;
    });
    if (disabled !== null) {
      log.warn("webhook_disabled", { organization_id: organizationId, webhook_id: webhookId, reason: disabled });
    }
    return verdict.state;
  }

  return {
    task: { name: "deliver-webhooks", intervalMs: settings.tickMs, run: startDue },
    async [Symbol.asyncDispose]() {
      await Promise.all(underway.keys());
      await sender[Symbol.asyncDispose]();
    },
  };
}

function changeOf(verdict: Verdict, sent: Ended, { attempts }: Claimed, nowMs: number) {
  const error = sent.state === "failed" ? sent.reason : `answered ${sent.status}`;
  return {
    status: verdict.state === "retry" ? ("pending" as const) : verdict.state,
    attempts: attempts + 1,
    next_attempt_at: isoTime(verdict.state === "retry" ? nowMs + verdict.afterMs : nowMs),
    last_attempt_at: isoTime(nowMs),
    last_status: sent.state === "answered" ? sent.status : null,
    last_error: verdict.state === "delivered" ? null : error,
  };
}
