import * as z from "zod";

import {
  SECRET_OVERLAP_HOURS,
  TEST_EVENT,
  type WebhookCreate,
  WEBHOOKS_MAXIMUM,
  type WebhookView,
} from "../../api/webhooks.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import { answerValue, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { listHandler } from "../kernel/lists/answer-list.ts";
import { inRange, type PageRange } from "../kernel/lists/pages.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { lockOrganization } from "../organizations/index.ts";
import { printEvent } from "./announce.ts";
import { failureOf, noteOutcome, signedMessage } from "./deliver.ts";
import type { Receivers, Sender } from "./receivers.ts";

export interface WebhooksContext extends Pick<OperationContext, "store" | "newId" | "machine"> {
  readonly receivers: Pick<Receivers, "problemOf">;
  readonly sender: Pick<Sender, "send">;
}

type WebhookRow = Tables["webhooks"];

const UNKNOWN_WEBHOOK = refuse("NotFound", "Webhook not found");
const TOO_MANY = refuse(
  "Conflict",
  `The organization has ${WEBHOOKS_MAXIMUM} webhooks; delete those that it does not need`,
);
const TEST_UNDER_WAY = refuse("Conflict", "Another test of a webhook is under way; wait for its answer");

/** Of the length that the Standard Webhooks specification recommends. */
const SECRET_BYTES = 32;
const HOUR_MS = 60 * 60 * 1000;
/** Shorter than that of events: a client waits. */
const TEST_TIMEOUT_MS = 10_000;

/** `POST /v1/webhooks`: only this answer and that of a rotation contain the secret. */
export function createOrganizationWebhook({ newId, machine, receivers }: WebhooksContext): Handler<WebhookCreate> {
  return async (call) => {
    const { url, events } = call.body;
    const problem = receivers.problemOf(url);
    if (problem !== null) return refuseInvalid([{ ...ruleBroken(problem), loc: ["body", "url"], input: url }]);
    const at = isoNow(machine.clock);
    const row: WebhookRow = {
      id: newId("wh"),
      organization_id: call.principal.organizationId,
      url: new URL(url).href,
      events: (events ?? null) === null ? null : JSON.stringify([...new Set(events)]),
      secret: newSecret(machine),
      created_at: at,
      previous_secret: null,
      previous_secret_until: null,
      last_error: null,
      last_error_at: null,
    };
    const author = authorship(call, newId, at);
    const isAdded = await call.write(async (transaction) => {
      if (!(await addWebhook(transaction, row, WEBHOOKS_MAXIMUM))) return false;
      const details = { host: hostOf(row), events: row.events };
      await audit(transaction, author, { action: "webhook.create", subjectId: row.id, details });
      return true;
    });
    if (!isAdded) return TOO_MANY;
    logChange(machine, "webhook_created", author, { webhook_id: row.id });
    return answerValue({ ...webhookView(row), secret: row.secret });
  };
}

/** `GET /v1/webhooks`. */
export const listOrganizationWebhooks = listHandler("wh", listWebhookRows, webhookView);

/** `POST /v1/webhooks/{webhook_id}/rotate`: the former secret signs beside the new one until receivers have that. */
export function rotateWebhookSecret({ newId, machine }: WebhooksContext): Handler<null> {
  return async (call) => {
    const id = call.path["webhook_id"] ?? "";
    const nowMs = machine.clock.wallMs();
    const until = isoTime(nowMs + SECRET_OVERLAP_HOURS * HOUR_MS);
    const secret = newSecret(machine);
    const author = authorship(call, newId, isoTime(nowMs));
    const rotated = await call.write(async (transaction) => {
      const webhook = await transaction
        .updateTable("webhooks")
        .set(({ ref }) => ({ secret, previous_secret: ref("secret"), previous_secret_until: until }))
        .where("organization_id", "=", call.principal.organizationId)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst();
      if (webhook === undefined) return undefined;
      const details = { host: hostOf(webhook) };
      await audit(transaction, author, { action: "webhook.rotate_secret", subjectId: id, details });
      return webhook;
    });
    if (rotated === undefined) return UNKNOWN_WEBHOOK;
    logChange(machine, "webhook_secret_rotated", author, { webhook_id: id });
    return answerValue({ ...webhookView(rotated), secret });
  };
}

/**
 * `POST /v1/webhooks/{webhook_id}/test`: sends an event that says nothing, also to a webhook that wants none of its type, and answers with
 * what came of it. An organization has one test under way, because each waits for a receiver.
 */
export function testOrganizationWebhook({ store, newId, machine, sender }: WebhooksContext): Handler<null> {
  const testing = new Set<string>();
  return async ({ principal: { organizationId }, path }) => {
    const id = path["webhook_id"] ?? "";
    const webhook = await ofOrganization(store.reader, organizationId).where("id", "=", id).executeTakeFirst();
    if (webhook === undefined) return UNKNOWN_WEBHOOK;
    if (testing.has(organizationId)) return TEST_UNDER_WAY;
    testing.add(organizationId);
    try {
      const nowMs = machine.clock.wallMs();
      const body = printEvent(TEST_EVENT, isoTime(nowMs), { webhook_id: id });
      const message = await signedMessage(webhook, newId("evt"), body, nowMs);
      const sent = await sender.send(message, AbortSignal.timeout(TEST_TIMEOUT_MS));
      const error = sent.state === "abandoned" ? `no answer within ${TEST_TIMEOUT_MS} ms` : failureOf(sent);
      await store.write((transaction) => noteOutcome(transaction, id, error, isoNow(machine.clock)));
      return answerValue({ delivered: error === null, error });
    } finally {
      testing.delete(organizationId);
    }
  };
}

/** `DELETE /v1/webhooks/{webhook_id}`: with the events that wait. An attempt in progress may still arrive. */
export function deleteOrganizationWebhook({ newId, machine }: WebhooksContext): Handler<null> {
  return async (call) => {
    const id = call.path["webhook_id"] ?? "";
    const at = isoNow(machine.clock);
    const author = authorship(call, newId, at);
    const isDeleted = await call.write(async (transaction) => {
      const deleted = await transaction
        .deleteFrom("webhooks")
        .where("organization_id", "=", call.principal.organizationId)
        .where("id", "=", id)
        .returning("url")
        .executeTakeFirst();
      if (deleted === undefined) return false;
      await audit(transaction, author, { action: "webhook.delete", subjectId: id, details: { host: hostOf(deleted) } });
      return true;
    });
    if (!isDeleted) return UNKNOWN_WEBHOOK;
    logChange(machine, "webhook_deleted", author, { webhook_id: id });
    return answerValue({ id, deleted_at: at });
  };
}

/** Adds a webhook, unless the organization has `maximum`. @returns whether it was added. */
export async function addWebhook(transaction: Transaction, row: WebhookRow, maximum: number): Promise<boolean> {
  const { organization_id: organizationId } = row;
  await lockOrganization(transaction, organizationId);
  const there = await ofOrganization(transaction, organizationId).limit(maximum).execute();
  if (there.length >= maximum) return false;
  await transaction.insertInto("webhooks").values(row).execute();
  return true;
}

function listWebhookRows(reader: Reader, organizationId: string, range: PageRange): Promise<WebhookRow[]> {
  return inRange(ofOrganization(reader, organizationId), "id", range).execute();
}

function ofOrganization(reader: Reader, organizationId: string) {
  return reader.selectFrom("webhooks").selectAll().where("organization_id", "=", organizationId);
}

function newSecret({ random }: Pick<ServiceMachine, "random">): string {
  return `whsec_${Buffer.from(random.bytes(SECRET_BYTES)).toString("base64")}`;
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
    previous_secret_until: row.previous_secret_until,
    last_error: row.last_error,
    last_error_at: row.last_error_at,
  };
}
