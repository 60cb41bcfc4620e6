import { useMemo, useState } from "preact/hooks";
import type * as z from "zod";

import type {
  webhookListSchema,
  webhookSecretSchema,
  webhookTestedSchema,
  WebhookView,
} from "../../../api/webhooks.ts";
import { EVENT_TYPES } from "../../../api/wire/event-types.ts";
import { receiverOf, REMOVED, ROTATED, testedInWords, WEBHOOKS } from "../../../views/webhooks.ts";
import { invalidate, useData } from "../data/query.ts";
import { mayDo } from "../data/session.ts";
import { useWrite } from "../data/write.ts";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { EndingButton } from "../parts/form/ending-button.tsx";
import { entered, FieldError, type FieldSpec } from "../parts/form/fields.tsx";
import { ChangeDialog, FormDialog } from "../parts/form/form-dialog.tsx";
import { ShownOnce } from "../parts/form/shown-once.tsx";
import { columnsOf } from "../parts/shown.tsx";
import type { Column } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { showToast } from "../parts/toast.tsx";

const FILTERING: Filtering<WebhookView> = {
  filters: WEBHOOKS.filters,
  textOf: ({ url, id, events }) => [url, id, ...(events ?? ["all"])].join(" "),
};

const COLUMNS = columnsOf(WEBHOOKS.columns);

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
    const error = tested.delivered ? null : (tested.error ?? "unknown");
    showToast(`The ${testedInWords(webhook, error)}.`, error === null ? "done" : "problem");
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
      emptyTitle={WEBHOOKS.empty}
      empty={<p>A webhook tells another program what happens to robots and fleets, by requests to its URL.</p>}
      noun={WEBHOOKS.noun}
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
      <p>{REMOVED}</p>
    </ChangeDialog>
  );
}

/** Of the API. */
function apiPath({ id }: WebhookView): string {
  return `/v1/webhooks/${encodeURIComponent(id)}`;
}

type WebhookSecret = z.output<typeof webhookSecretSchema>;

/** Creates a webhook, and shows its secret once. */
function NewWebhookDialog({ close }: { close(): void }) {
  const [created, setCreated] = useState<WebhookSecret | null>(null);
  if (created !== null) return <Secret of={created} close={close} />;
  return (
    <FormDialog<WebhookSecret>
      title="New webhook"
      verb="Create webhook"
      initial={{ choice: "all" }}
      fields={fieldsOf}
      requestOf={(data) => ({
        method: "POST",
        path: "/v1/webhooks",
        body: {
          url: entered(data, "url"),
          events: entered(data, "choice") === "all" ? null : data.getAll("events"),
        },
      })}
      topics={["webhooks"]}
      done={setCreated}
      close={close}
    />
  );
}

function fieldsOf(data: FormData): readonly FieldSpec[] {
  const types: FieldSpec = {
    name: "events",
    label: "Types",
    kind: "checkboxes",
    options: EVENT_TYPES.map((type) => ({ value: type, word: type })),
    input: { required: true },
  };
  return [
    {
      name: "url",
      label: "URL",
      hint: "Events are sent there by POST: https, on a public address.",
      input: { autofocus: true, required: true, maxLength: 2048, placeholder: "https://hooks.example.com/robots" },
    },
    {
      name: "choice",
      label: "Events",
      kind: "radio",
      options: [
        { value: "all", word: "All", hint: "Also types that a later version adds." },
        { value: "some", word: "The ones I choose" },
      ],
    },
    ...(entered(data, "choice") === "all" ? [] : [types]),
  ];
}

interface RotateProps {
  readonly webhook: WebhookView;
  /** Of the operation. */
  readonly path: string;
  close(): void;
}

/** Gives a webhook a new secret, and shows it once. */
function RotateDialog({ webhook, path, close }: RotateProps) {
  const [rotated, setRotated] = useState<WebhookSecret | null>(null);
  if (rotated !== null) return <Secret of={rotated} close={close} />;
  return (
    <FormDialog<WebhookSecret>
      title={`New secret for ${receiverOf(webhook)}?`}
      verb="Make a new secret"
      requestOf={() => ({ method: "POST", path })}
      topics={["webhooks"]}
      done={setRotated}
      close={close}
    >
      <p>{ROTATED}</p>
    </FormDialog>
  );
}

function Secret({ of, close }: { readonly of: WebhookSecret; close(): void }) {
  return (
    <ShownOnce title={`The webhook to ${receiverOf(of)}`} text={of.secret} what="secret" close={close}>
      <p>
        The receiver verifies with it that requests come from this service, by the Standard Webhooks specification. Copy
        it to the receiver: it is shown only once.
      </p>
    </ShownOnce>
  );
}
