import type { WebhookView } from "../../../api/webhooks.ts";
import { receiverOf, webhookState } from "../../../api/words/webhooks.ts";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { badgeColumn, type Column, countColumn, textColumn, timeColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { useWebhooks, webhookPath } from "./data.ts";
import { NewWebhookDialog } from "./new.tsx";

const FILTERING: Filtering<WebhookView> = {
  filters: [{ id: "state", label: "State", valuesOf: (webhook) => [webhookState(webhook)] }],
  textOf: (webhook) => [receiverOf(webhook), webhook.id, webhookState(webhook), eventsText(webhook)].join(" "),
};

const COLUMNS: readonly Column<WebhookView>[] = [
  textColumn({ id: "receiver", name: "Receiver", track: "minmax(9rem, 1.4fr)" }, receiverOf),
  badgeColumn({ track: "7rem" }, webhookState),
  textColumn({ id: "events", name: "Events", track: "minmax(6rem, 2fr)", isWideOnCard: true }, eventsText),
  countColumn({ id: "dropped", name: "Dropped", track: "5.5rem" }, ({ dropped_events: dropped }) => dropped),
  timeColumn({ id: "created", name: "Created", track: "7rem", from: "medium" }, ({ created_at: at }) => at),
];

/** `/webhooks`: where events are sent, and whether that works. */
export function Webhooks() {
  const webhooks = useWebhooks();
  const create = (
    <DialogButton scope="webhooks:write" word="New webhook" kind="main">
      {(close) => <NewWebhookDialog close={close} />}
    </DialogButton>
  );
  return (
    <ListPage
      title="Webhooks"
      actions={create}
      data={webhooks}
      emptyTitle="There is no webhook"
      empty={<p>A webhook tells another program what happens to robots and fleets, by requests to its URL.</p>}
      noun="webhook"
      columns={COLUMNS}
      rows={webhooks.value?.items}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => webhookPath(id)}
      sort="receiver"
      cardHeight="8rem"
      filtering={FILTERING}
      hint="Receiver, event, id"
    />
  );
}

export function eventsText({ events }: WebhookView): string {
  return events === null ? "all" : events.join(", ");
}
