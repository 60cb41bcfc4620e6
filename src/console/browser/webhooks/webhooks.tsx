import type * as z from "zod";

import type {
  webhookListSchema,
  webhookSecretSchema,
  webhookTestedSchema,
  WebhookView,
} from "../../../api/webhooks.ts";
import { EVENT_TYPES } from "../../../api/wire/event-types.ts";
import { receiverOf, REMOVED, ROTATED, testedInWords, WEBHOOKS } from "../../../views/webhooks.ts";
import { useData } from "../data/query.ts";
import { type Change, ChangeButton, type Made } from "../parts/form/change.tsx";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import type { RowChanges } from "../parts/table/columns.tsx";
import { ListPage } from "../parts/table/list-page.tsx";

/** `/webhooks`: where events are sent, whether that works, and the buttons to test, rotate and remove. */
export function Webhooks() {
  const webhooks = useData<z.output<typeof webhookListSchema>>("/v1/webhooks", ["webhooks"]);
  return (
    <ListPage
      view={WEBHOOKS}
      changes={CHANGES}
      data={webhooks}
      rows={webhooks.value?.items}
      keyOf={({ id }) => id}
      sort="receiver"
      actions={<ChangeButton change={NEW_WEBHOOK} />}
      empty={<p>A webhook tells another program what happens to robots and fleets, by requests to its URL.</p>}
    />
  );
}

const CHANGES: RowChanges<WebhookView> = {
  scope: "webhooks:write",
  track: "16rem",
  of: (webhook) => [testing(webhook), rotation(webhook), removal(webhook)],
  aboutOf: receiverOf,
};

function testing(webhook: WebhookView): Change<z.output<typeof webhookTestedSchema>> {
  return {
    scope: "webhooks:write",
    word: "Test",
    title: `Send a test event to ${receiverOf(webhook)}?`,
    verb: "Send",
    requestOf: () => ({ method: "POST", path: `${apiPath(webhook)}/test` }),
    topics: ["webhooks"],
    made({ delivered, error }) {
      const failure = delivered ? null : (error ?? "unknown");
      return { said: `The ${testedInWords(webhook, failure)}.`, tone: failure === null ? "done" : "problem" };
    },
  };
}

function removal(webhook: WebhookView): Change {
  return {
    scope: "webhooks:write",
    word: "Remove",
    kind: "danger",
    title: `Remove the webhook to ${receiverOf(webhook)}?`,
    verb: "Remove webhook",
    body: <p>{REMOVED}</p>,
    requestOf: () => ({ method: "DELETE", path: apiPath(webhook) }),
    topics: ["webhooks"],
    made: () => ({ said: "The webhook is removed." }),
  };
}

/** Of the API. */
function apiPath({ id }: WebhookView): string {
  return `/v1/webhooks/${encodeURIComponent(id)}`;
}

type WebhookSecret = z.output<typeof webhookSecretSchema>;

function rotation(webhook: WebhookView): Change<WebhookSecret> {
  return {
    scope: "webhooks:write",
    word: "New secret",
    title: `New secret for ${receiverOf(webhook)}?`,
    verb: "Make a new secret",
    body: <p>{ROTATED}</p>,
    requestOf: () => ({ method: "POST", path: `${apiPath(webhook)}/rotate` }),
    topics: ["webhooks"],
    made: shownOnce,
  };
}

const NEW_WEBHOOK: Change<WebhookSecret> = {
  scope: "webhooks:write",
  word: "New webhook",
  kind: "main",
  title: "New webhook",
  verb: "Create webhook",
  initial: { choice: "all" },
  useForm: (data) => ({ fields: fieldsOf(data) }),
  requestOf: (data) => {
    const events = entered(data, "choice") === "all" ? null : data.getAll("events");
    return { method: "POST", path: "/v1/webhooks", body: { url: entered(data, "url"), events } };
  },
  topics: ["webhooks"],
  made: shownOnce,
};

function shownOnce(answer: WebhookSecret): Made {
  return {
    secret: answer.secret,
    title: `The webhook to ${receiverOf(answer)}`,
    what: "secret",
    note:
      "The receiver verifies with it that requests come from this service, by the Standard Webhooks specification. " +
      "Copy it to the receiver: it is shown only once.",
  };
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
