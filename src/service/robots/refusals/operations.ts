import type { RefusalQuery, RefusalView } from "../../../api/refusals.ts";
import { answerValue } from "../../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../../kernel/operation.ts";
import { type LabelledRefusal, listRefusals, UNKNOWN_ROBOT } from "./queries.ts";

/** `GET /v1/me/refusals`: registrations that were refused, newest first, of all robots or of one. */
export function listOrganizationRefusals({ store }: OperationContext): Handler<null, RefusalQuery> {
  return async ({ principal, query }) => {
    const rows = await listRefusals(store.reader, principal.organizationId, query.robot);
    return answerValue({ items: rows.map(viewRefusal) });
  };
}

export function viewRefusal(row: LabelledRefusal): RefusalView {
  const { id, robot, status, detail, actor, label, address, count } = row;
  return {
    id,
    robot: robot === UNKNOWN_ROBOT ? null : robot,
    status,
    detail,
    actor: { id: actor, label },
    address,
    request_id: row.request_id,
    first_at: row.first_at,
    last_at: row.last_at,
    count,
  };
}
