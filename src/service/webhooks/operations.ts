import * as z from "zod";

import { type WebhookChange, type WebhookCreate, WEBHOOKS_MAXIMUM, type WebhookView } from "../../api/webhooks.ts";
import { isoNow } from "../../platform/clock.ts";
import { type Answer, answerValue, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { listHandler } from "../kernel/lists/answer-list.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { giveUpPending } from "./delivery-queries.ts";
import { addWebhook, findWebhook, listWebhookRows, lockWebhook, removeWebhook, type WebhookRow } from "./queries.ts";
import type { Receivers } from "./receivers.ts";

export interface WebhooksContext extends Pick<OperationContext, "store" | "newId" | "machine" | "nudge"> {
  readonly receivers: Pick<Receivers, "problemOf">;
}

export const UNKNOWN_WEBHOOK = refuse("NotFound", "Webhook not found");
const TOO_MANY = refuse(
  "Conflict",
  `The organization has ${WEBHOOKS_MAXIMUM} webhooks; delete those that it does not need`,
);

/** Its failures before are forgotten, so that the next one does not disable it again; nothing is pending, so it is not full. */
const ENABLED = { disabled_at: null, disabled_reason: null, failing_since: null, full_since: null };

/** Of the length that the Standard Webhooks specification recommends. */
const SECRET_BYTES = 32;

/** `POST /v1/webhooks`: the only answer that contains the secret. */
export function createOrganizationWebhook({ newId, machine, receivers }: WebhooksContext): Handler<WebhookCreate> {
  return async (call) => {
    const { url, events } = call.body;
    const invalid = refuseReceiver(url, receivers);
    if (invalid !== null) return invalid;
    const at = isoNow(machine.clock);
    const secret = `whsec_${Buffer.from(machine.random.bytes(SECRET_BYTES)).toString("base64")}`;
    const row: WebhookRow = {
      id: newId("wh"),
      organization_id: call.principal.organizationId,
      url: new URL(url).href,
      events: printEvents(events),
      secret,
      created_at: at,
      listening_since: at,
      failing_since: null,
      full_since: null,
      dropped_events: 0,
      disabled_at: null,
      disabled_reason: null,
      removed_at: null,
    };
    const author = authorship(call, newId, at);
    const details = { host: hostOf(row), events: row.events };
    const isAdded = await call.write(async (transaction) => {
      if (!(await addWebhook(transaction, row, WEBHOOKS_MAXIMUM))) return false;
      await audit(transaction, author, { action: "webhook.create", subjectId: row.id, details });
      return true;
    });
    if (!isAdded) return TOO_MANY;
    logChange(machine, "webhook_created", author, { webhook_id: row.id });
    return answerValue({ ...webhookView(row), secret });
  };
}

/** `GET /v1/webhooks`. */
export const listOrganizationWebhooks = listHandler("wh", listWebhookRows, webhookView);

/** `GET /v1/webhooks/{webhook_id}`. */
export function getOrganizationWebhook({ store }: WebhooksContext): Handler<null> {
  return async ({ principal, path }) => {
    const webhook = await findWebhook(store.reader, principal.organizationId, path["webhook_id"] ?? "");
    return webhook === undefined ? UNKNOWN_WEBHOOK : answerValue(webhookView(webhook));
  };
}

/** `PATCH /v1/webhooks/{webhook_id}`: an event that was entered before goes to the new URL, too. What changes nothing is not audited. */
export function changeOrganizationWebhook({ newId, machine, receivers }: WebhooksContext): Handler<WebhookChange> {
  return async (call) => {
    const { url = null, events, disabled = null } = call.body;
    const invalid = url === null ? null : refuseReceiver(url, receivers);
    if (invalid !== null) return invalid;
    const id = call.path["webhook_id"] ?? "";
    const at = isoNow(machine.clock);
    const author = authorship(call, newId, at);
    const changed = await call.write(async (transaction) => {
      const webhook = await lockWebhook(transaction, call.principal.organizationId, id);
      if (webhook === undefined) return null;
      const isDisabled = webhook.disabled_at !== null;
      const newUrl = url === null ? webhook.url : new URL(url).href;
      const newEvents = events === undefined ? webhook.events : printEvents(events);
      const change = {
        // Failures of the old receiver say nothing about the new one.
        ...(newUrl === webhook.url ? {} : { url: newUrl, failing_since: null }),
        ...(newEvents === webhook.events ? {} : { events: newEvents, listening_since: at }),
        ...(disabled === true && !isDisabled ? { disabled_at: at, disabled_reason: "requested" as const } : {}),
        ...(disabled === false && isDisabled ? { ...ENABLED, listening_since: at } : {}),
      };
      if (Object.keys(change).length === 0) return { row: webhook, isChanged: false };
      const row = { ...webhook, ...change };
      // Before it is enabled, because the task that gives up comes later.
      if (disabled === false && isDisabled) await giveUpPending(transaction, id);
      await transaction.updateTable("webhooks").set(change).where("id", "=", id).execute();
      const details = { host: hostOf(row), events: row.events, is_disabled: row.disabled_at !== null };
      await audit(transaction, author, { action: "webhook.change", subjectId: id, details });
      return { row, isChanged: true };
    });
    if (changed === null) return UNKNOWN_WEBHOOK;
    if (changed.isChanged) logChange(machine, "webhook_changed", author, { webhook_id: id });
    return answerValue(webhookView(changed.row));
  };
}

/** `DELETE /v1/webhooks/{webhook_id}`: an attempt in progress may still arrive. */
export function deleteOrganizationWebhook({ newId, machine }: WebhooksContext): Handler<null> {
  return async (call) => {
    const { organizationId } = call.principal;
    const id = call.path["webhook_id"] ?? "";
    const at = isoNow(machine.clock);
    const author = authorship(call, newId, at);
    const isRemoved = await call.write(async (transaction) => {
      const webhook = await lockWebhook(transaction, organizationId, id);
      if (webhook === undefined) return false;
      await removeWebhook(transaction, id, at);
      const details = { host: hostOf(webhook) };
      await audit(transaction, author, { action: "webhook.delete", subjectId: id, details });
      return true;
    });
    if (!isRemoved) return UNKNOWN_WEBHOOK;
    logChange(machine, "webhook_deleted", author, { webhook_id: id });
    return answerValue({ id, deleted_at: at });
  };
}

function refuseReceiver(url: string, { problemOf }: Pick<Receivers, "problemOf">): Answer | null {
  const problem = problemOf(url);
  return problem === null ? null : refuseInvalid([{ ...ruleBroken(problem), loc: ["body", "url"], input: url }]);
}

function printEvents(events: WebhookCreate["events"]): string | null {
  return (events ?? null) === null ? null : JSON.stringify([...new Set(events)]);
}

/** For the audit log: paths and queries of such URLs often are secrets. */
function hostOf({ url }: Pick<WebhookRow, "url">): string {
  return new URL(url).host;
}

const eventsSchema = z.array(z.string()).nullable();

/** Without the secret. */
function webhookView(row: WebhookRow): WebhookView {
  return {
    id: row.id,
    url: row.url,
    events: row.events === null ? null : eventsSchema.parse(JSON.parse(row.events)),
    created_at: row.created_at,
    failing_since: row.failing_since,
    full_since: row.full_since,
    dropped_events: row.dropped_events,
    disabled_at: row.disabled_at,
    disabled_reason: row.disabled_reason,
  };
}
