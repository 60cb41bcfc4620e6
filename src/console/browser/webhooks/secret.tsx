import { useState } from "preact/hooks";
import type * as z from "zod";

import type { webhookSecretSchema, WebhookView } from "../../../api/webhooks.ts";
import { EVENT_TYPES } from "../../../api/wire/event-types.ts";
import { receiverOf } from "../../../api/words/webhooks.ts";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";
import { ShownOnce } from "../parts/form/shown-once.tsx";

type WebhookSecret = z.output<typeof webhookSecretSchema>;

/** Creates a webhook, and shows its secret once. */
export function NewWebhookDialog({ close }: { close(): void }) {
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
export function RotateDialog({ webhook, path, close }: RotateProps) {
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
      <p>For a day the former secret signs beside the new one: copy the new one to the receiver until then.</p>
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
