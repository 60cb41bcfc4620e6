import * as z from "zod";

import type { AuditEntryView, RefusalQuery, RefusalView } from "../../api/audit.ts";
import type { PageQuery } from "../../api/pages.ts";
import { answerJson } from "../kernel/http/answers.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { listRefusals, UNKNOWN_ROBOT } from "../robots/refusal-queries.ts";
import type { LabelledRefusal } from "../robots/refusal-queries.ts";
import { listChanges } from "./queries.ts";
import type { LabelledEntry } from "./queries.ts";

/** `GET /v1/me/audit`: who changed what in the organization, newest first, but for registrations. */
export function listOrganizationAudit({ store }: OperationContext): Handler<null, PageQuery> {
  return (call) =>
    answerList(call, {
      prefix: "aud",
      around: ITEMS,
      fetch: (range) => listChanges(store.reader, call.principal.organization_id, range),
      view: viewEntry,
    });
}

/** `GET /v1/me/refusals`: registrations that were refused, newest first, of all robots or of one. */
export function listOrganizationRefusals({ store }: OperationContext): Handler<null, RefusalQuery> {
  return async ({ principal, query }) => {
    const rows = await listRefusals(store.reader, principal.organization_id, query.robot);
    return answerJson(JSON.stringify({ items: rows.map(viewRefusal) }));
  };
}

const detailsSchema = z.record(z.string(), z.unknown());

function viewEntry(entry: LabelledEntry): AuditEntryView {
  const {
    id,
    at,
    action,
    subject_id: subjectId,
    subject_name: subjectName,
    subject_model: subjectModel,
    actor,
    label,
    request_id: requestId,
  } = entry;
  const details = detailsSchema.parse(JSON.parse(entry.details));
  return {
    id,
    at,
    action,
    subject_id: subjectId,
    subject_name: subjectName,
    subject_model: subjectModel,
    actor: { id: actor, label },
    request_id: requestId,
    details,
  };
}

export function viewRefusal(row: LabelledRefusal): RefusalView {
  const {
    id,
    robot,
    status,
    detail,
    actor,
    label,
    address,
    request_id: requestId,
    first_at: firstAt,
    last_at: lastAt,
    count,
  } = row;
  return {
    id,
    robot: robot === UNKNOWN_ROBOT ? null : robot,
    status,
    detail,
    actor: { id: actor, label },
    address,
    request_id: requestId,
    first_at: firstAt,
    last_at: lastAt,
    count,
  };
}
