import { useEffect } from "preact/hooks";

import type { DeliveryView, WebhookView } from "../../../api/webhooks.ts";
import { lastAnswerInWords, subjectOfEvent } from "../../../api/words/webhooks.ts";
import { dueTime } from "../../../platform/text/relative-time.ts";
import { invalidate } from "../data/cache.ts";
import { mayDo } from "../data/session.ts";
import { useWrite } from "../data/use-write.ts";
import { FieldError } from "../parts/form/fields.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import {
  actionColumn,
  badgeColumn,
  type Column,
  countColumn,
  textColumn,
  timeColumn,
} from "../parts/table/columns.tsx";
import { Table } from "../parts/table/table.tsx";
import { showToast } from "../parts/toast.tsx";
import { apiPath, DELIVERIES, useDeliveries } from "./data.ts";

/** Attempts are no changes that the service reports to the page. */
const REFRESH_MS = 5000;

/** What a webhook was sent, and what became of it. */
export function Deliveries({ webhook }: { readonly webhook: WebhookView }) {
  const deliveries = useDeliveries(webhook.id);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") invalidate(["webhooks"]);
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  const { send, isBusy, problem } = useWrite<DeliveryView>();
  const canResend = mayDo("webhooks:write") && webhook.disabled_at === null;
  const resend = async ({ id, type }: DeliveryView) => {
    const sent = await send("POST", `${apiPath(webhook.id)}/deliveries/${encodeURIComponent(id)}/resend`);
    if (sent !== null) showToast(`${type} is sent again.`);
    invalidate(["webhooks"]);
  };
  const aboutOf = (delivery: DeliveryView) => `${delivery.type} ${subjectOfEvent(delivery)}`;
  const again = actionColumn("Send again", aboutOf, (delivery) => void resend(delivery), { track: "8.25rem", isBusy });
  return (
    <Loaded data={deliveries} what="the deliveries" lines={8}>
      {({ items }) =>
        items.length === 0 ? (
          <p class="muted">Nothing was sent yet.</p>
        ) : (
          <>
            {problem === null ? null : <FieldError text={problem.detail} />}
            <Table
              noun="delivery"
              caption="Deliveries"
              columns={canResend ? [...COLUMNS, again] : COLUMNS}
              rows={items}
              keyOf={({ id }) => id}
              sort="-when"
              rowHeight="2.75rem"
              cardHeight="10rem"
            />
            {items.length < DELIVERIES ? null : (
              <p class="muted">
                These are the newest {DELIVERIES}. <code>robot-policy webhooks deliveries --all</code> lists all.
              </p>
            )}
          </>
        )
      }
    </Loaded>
  );
}

const COLUMNS: readonly Column<DeliveryView>[] = [
  textColumn({ id: "type", name: "Event", track: "minmax(7.25rem, 1.2fr)" }, ({ type }) => type),
  textColumn({ id: "about", name: "About", track: "minmax(4.25rem, 1fr)" }, subjectOfEvent),
  badgeColumn({ track: "7rem" }, ({ status }) => status),
  countColumn({ id: "attempts", name: "Attempts", track: "5.5rem", from: "medium" }, ({ attempts }) => attempts),
  textColumn({ id: "answer", name: "Last answer", track: "minmax(6rem, 1.2fr)" }, lastAnswerInWords),
  {
    id: "next",
    name: "Next try",
    track: "6rem",
    from: "medium",
    cell: ({ next_attempt_at: at }) => <RelativeTime at={at} inWords={dueTime} />,
  },
  timeColumn({ id: "when", name: "When", track: "7rem" }, ({ created_at: at }) => at),
];
