import { useMemo, useState } from "preact/hooks";
import type * as z from "zod";

import type { webhookListSchema, webhookTestedSchema, WebhookView } from "../../../api/webhooks.ts";
import { receiverOf, webhookState } from "../../../api/words/webhooks.ts";
import { invalidate, useData } from "../data/query.ts";
import { mayDo } from "../data/session.ts";
import { useWrite } from "../data/write.ts";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { EndingButton } from "../parts/form/ending-button.tsx";
import { FieldError } from "../parts/form/fields.tsx";
import { ChangeDialog } from "../parts/form/form-dialog.tsx";
import { badgeColumn, type Column, textColumn, timeColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { showToast } from "../parts/toast.tsx";
import { NewWebhookDialog, RotateDialog } from "./secret.tsx";

const FILTERING: Filtering<WebhookView> = {
  filters: [{ id: "state", label: "State", valuesOf: (webhook) => [webhookState(webhook)] }],
  textOf: (webhook) => [webhook.url, webhook.id, webhookState(webhook), eventsText(webhook)].join(" "),
};

const COLUMNS: readonly Column<WebhookView>[] = [
  {
    id: "receiver",
    name: "Receiver",
    track: "minmax(9rem, 1.4fr)",
    cell: (webhook) => <span title={webhook.url}>{receiverOf(webhook)}</span>,
    sortBy: receiverOf,
  },
  badgeColumn({ track: "6rem" }, webhookState),
  textColumn({ id: "error", name: "Last error", track: "minmax(6rem, 1fr)" }, ({ last_error: error }) => error),
  timeColumn({ id: "failed", name: "Failed", track: "6rem", from: "medium" }, ({ last_error_at: at }) => at),
  textColumn({ id: "events", name: "Events", track: "minmax(6rem, 1fr)", from: "wide" }, eventsText),
  timeColumn({ id: "created", name: "Created", track: "6rem", from: "wide" }, ({ created_at: at }) => at),
];

/** The dialog that is open, and the webhook that it is about. */
interface Opened {
  readonly dialog: "rotate" | "remove";
  readonly webhook: WebhookView;
}

/** `/webhooks`: where events are sent, whether that works, and the buttons to test, rotate and remove. */
export function Webhooks() {
  const webhooks = useData<z.output<typeof webhookListSchema>>("/v1/webhooks", ["webhooks"]);
  const [opened, setOpened] = useState<Opened | null>(null);
  const { send, isBusy, problem } = useWrite<z.output<typeof webhookTestedSchema>>();
  const test = async (webhook: WebhookView) => {
    const tested = await send("POST", `${apiPath(webhook)}/test`);
    invalidate(["webhooks"]);
    if (tested === null) return;
    const receiver = receiverOf(webhook);
    if (tested.delivered) showToast(`The test event is delivered to ${receiver}.`);
    else showToast(`The test event was not delivered to ${receiver}: ${tested.error ?? "unknown"}.`, "problem");
  };
  const columns = useMemo(() => {
    const actions: Column<WebhookView> = {
      id: "action",
      name: "Action",
      track: "16rem",
      cell: (webhook) => {
        const labelOf = (word: string) => `${word} ${receiverOf(webhook)}`;
        return (
          <span class="buttons">
            <EndingButton label={labelOf("Test")} isBusy={isBusy} press={() => void test(webhook)}>
              Test
            </EndingButton>
            <EndingButton label={labelOf("New secret")} press={() => setOpened({ dialog: "rotate", webhook })}>
              New secret
            </EndingButton>
            <EndingButton label={labelOf("Remove")} press={() => setOpened({ dialog: "remove", webhook })}>
              Remove
            </EndingButton>
          </span>
        );
      },
    };
    return mayDo("webhooks:write") ? [...COLUMNS, actions] : COLUMNS;
  }, [isBusy]);
  const create = (
    <DialogButton scope="webhooks:write" word="New webhook" kind="main">
      {(close) => <NewWebhookDialog close={close} />}
    </DialogButton>
  );
  return (
    <ListPage
      title="Webhooks"
      actions={create}
      before={problem === null ? null : <FieldError text={problem.detail} />}
      data={webhooks}
      emptyTitle="There is no webhook"
      empty={<p>A webhook tells another program what happens to robots and fleets, by requests to its URL.</p>}
      noun="webhook"
      columns={columns}
      rows={webhooks.value?.items}
      keyOf={({ id }) => id}
      sort="receiver"
      filtering={FILTERING}
      hint="Receiver, event, id"
    >
      {opened === null ? null : <Dialog {...opened} close={() => setOpened(null)} />}
    </ListPage>
  );
}

function Dialog({ dialog, webhook, close }: Opened & { close(): void }) {
  const path = apiPath(webhook);
  if (dialog === "rotate") return <RotateDialog webhook={webhook} path={`${path}/rotate`} close={close} />;
  return (
    <ChangeDialog
      title={`Remove the webhook to ${receiverOf(webhook)}?`}
      verb="Remove webhook"
      isDangerous
      request={{ method: "DELETE", path }}
      topics={["webhooks"]}
      done="The webhook is removed."
      close={close}
    >
      <p>What waits to be delivered is not sent, and its secret is deleted.</p>
    </ChangeDialog>
  );
}

/** Of the API. */
function apiPath({ id }: WebhookView): string {
  return `/v1/webhooks/${encodeURIComponent(id)}`;
}

function eventsText({ events }: WebhookView): string {
  return events === null ? "all" : events.join(", ");
}
