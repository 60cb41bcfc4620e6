import { useState } from "preact/hooks";
import type * as z from "zod";

import type { webhookSecretSchema, WebhookView } from "../../../api/webhooks.ts";
import { EVENT_TYPES, type EventType } from "../../../api/wire/event-types.ts";
import { receiverOf } from "../../../api/words/webhooks.ts";
import { invalidate } from "../data/query.ts";
import { useWrite } from "../data/write.ts";
import { CheckboxesField, ChoiceField, TextField } from "../parts/form/fields.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";
import { useFormErrors } from "../parts/form/form-errors.ts";
import { ShownOnce } from "../parts/form/shown-once.tsx";

type WebhookSecret = z.output<typeof webhookSecretSchema>;

/** Creates a webhook, and shows its secret once. */
export function NewWebhookDialog({ close }: { close(): void }) {
  const [created, setCreated] = useState<WebhookSecret | null>(null);
  if (created === null) return <WebhookForm made={setCreated} close={close} />;
  return <Secret of={created} close={close} />;
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
  const { send, isBusy, problem } = useWrite<WebhookSecret>();
  if (rotated !== null) return <Secret of={rotated} close={close} />;
  const submit = async () => {
    const answer = await send("POST", path);
    if (answer !== null) setRotated(answer);
  };
  return (
    <FormDialog
      title={`New secret for ${receiverOf(webhook)}?`}
      verb="Make a new secret"
      isBusy={isBusy}
      errors={problem === null ? [] : [problem.detail]}
      submit={submit}
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

function WebhookForm({ made, close }: { made(created: WebhookSecret): void; close(): void }) {
  const [url, setUrl] = useState("");
  const [choice, setChoice] = useState("all");
  const [events, setEvents] = useState<readonly EventType[]>([]);
  const { send, isBusy, problem } = useWrite<WebhookSecret>();
  const body = { url: url.trim(), events: choice === "all" ? null : events };
  const errors = useFormErrors({ isBusy, problem }, ["url", "events"], body);
  const submit = async () => {
    const created = await send("POST", "/v1/webhooks", body);
    if (created === null) return;
    invalidate(["webhooks"]);
    made(created);
  };
  return (
    <FormDialog
      title="New webhook"
      verb="Create webhook"
      isReady={body.url !== "" && body.events?.length !== 0}
      isBusy={isBusy}
      errors={errors.rest}
      submit={submit}
      close={close}
    >
      <TextField
        label="URL"
        hint="Events are sent there by POST: https, on a public address."
        value={url}
        change={setUrl}
        error={errors.of("url")}
        input={{ autofocus: true, required: true, maxLength: 2048, placeholder: "https://hooks.example.com/robots" }}
      />
      <ChoiceField
        legend="Events"
        value={choice}
        change={setChoice}
        error={errors.of("events")}
        options={[
          { value: "all", word: "All", hint: "Also types that a later version adds." },
          { value: "some", word: "The ones I choose" },
        ]}
      />
      {choice === "all" ? null : (
        <CheckboxesField
          legend="Types"
          chosen={events}
          change={setEvents}
          options={EVENT_TYPES.map((type) => ({ value: type, word: type }))}
        />
      )}
    </FormDialog>
  );
}
