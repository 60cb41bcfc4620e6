import type { UsageQuery, UsageRecord } from "../../api/usage.ts";
import { isoNow } from "../../platform/clock.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { listUsage, type UsagePeriod } from "./queries.ts";

/** `GET /v1/me/usage`: the periods in which a robot had an active deployment, oldest first. A running one has no end. */
export function listOrganizationUsage({ store, machine }: OperationContext): Handler<null, UsageQuery> {
  return (call) => {
    const now = isoNow(machine.clock);
    const { since, until } = call.query;
    return answerList(call, {
      prefix: "use",
      around: ITEMS,
      fetch: (range) => listUsage(store.reader, call.principal.organizationId, range, now, { since, until }),
      view: usageView,
    });
  };
}

/** `amount_cents` is part of the contract; this service does not bill. */
function usageView({ robot_name: robot, ...period }: UsagePeriod): UsageRecord {
  return {
    id: period.id,
    created_at: period.created_at,
    usage_type: period.usage_type,
    sku: period.sku,
    quantity: period.quantity,
    unit: period.unit,
    amount_cents: null,
    deployment_id: period.deployment_id,
    robot,
    model_slug: period.model_slug,
    period_start: period.period_start,
    period_end: period.period_end,
  };
}
