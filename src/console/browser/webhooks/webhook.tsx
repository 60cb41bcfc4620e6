import type { WebhookView } from "../../../api/webhooks.ts";
import { receiverOf, webhookState, webhookStateInWords } from "../../../api/words/webhooks.ts";
import { invalidate } from "../data/cache.ts";
import { mayDo } from "../data/session.ts";
import { useWrite } from "../data/use-write.ts";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { EndingButton } from "../parts/form/ending-button.tsx";
import { ChangeDialog } from "../parts/form/form-dialog.tsx";
import { Facts, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { number } from "../parts/text.ts";
import { showToast } from "../parts/toast.tsx";
import type { PageParameters } from "../router.ts";
import { apiPath, useWebhook } from "./data.ts";
import { Deliveries } from "./deliveries.tsx";
import { eventsText } from "./webhooks.tsx";

/** `/webhooks/ID`: one webhook, what it was sent, and the buttons to test, disable and remove it. */
export function Webhook({ name: id }: PageParameters) {
  const webhook = useWebhook(id);
  return (
    <ResourcePage
      data={webhook}
      section="webhooks"
      noun="webhook"
      titleOf={(view) => receiverOf(view)}
      badgeOf={(view) => <StatusBadge status={webhookState(view)} />}
      actionsOf={(view) => <Actions webhook={view} />}
      lines={6}
    >
      {(known) => (
        <>
          <WebhookFacts webhook={known} />
          <Section title="Deliveries" note="Of the last 30 days, newest first">
            <Deliveries webhook={known} />
          </Section>
        </>
      )}
    </ResourcePage>
  );
}

function WebhookFacts({ webhook }: { readonly webhook: WebhookView }) {
  return (
    <Facts
      facts={[
        ["State", webhookStateInWords(webhook)],
        ["URL", <span class="mono whole">{webhook.url}</span>],
        ["Events", eventsText(webhook)],
        ["Dropped events", number(webhook.dropped_events)],
        ["Failing since", <RelativeTime at={webhook.failing_since} />],
        ["Full since", <RelativeTime at={webhook.full_since} />],
        ["Disabled", <RelativeTime at={webhook.disabled_at} />],
        ["Created", <RelativeTime at={webhook.created_at} />],
        ["Id", <span class="mono">{webhook.id}</span>],
      ]}
    />
  );
}

function Actions({ webhook }: { readonly webhook: WebhookView }) {
  const { id, disabled_at: disabledAt } = webhook;
  const { send, isBusy, problem } = useWrite<unknown>();
  if (!mayDo("webhooks:write")) return null;
  const run = async (sent: Promise<unknown>, done: string) => {
    const isDone = (await sent) !== null;
    invalidate(["webhooks"]);
    if (isDone) showToast(done);
  };
  const isDisabled = disabledAt !== null;
  return (
    <>
      {isDisabled ? null : (
        <button
          type="button"
          class="button"
          aria-disabled={isBusy}
          onClick={() => void run(send("POST", `${apiPath(id)}/test`), "The test event is on its way.")}
        >
          Send a test
        </button>
      )}
      {isDisabled ? (
        <EndingButton
          isBusy={isBusy}
          press={() => void run(send("PATCH", apiPath(id), { disabled: false }), "The webhook is enabled.")}
        >
          Enable
        </EndingButton>
      ) : (
        <DialogButton scope="webhooks:write" word="Disable">
          {(close) => <End webhook={webhook} verb="Disable" close={close} />}
        </DialogButton>
      )}
      <DialogButton scope="webhooks:write" word="Remove" kind="danger">
        {(close) => <End webhook={webhook} verb="Remove" close={close} />}
      </DialogButton>
      {problem === null ? null : <span role="alert">{problem.detail}</span>}
    </>
  );
}

interface EndProps {
  readonly webhook: WebhookView;
  readonly verb: "Disable" | "Remove";
  close(): void;
}

function End({ webhook, verb, close }: EndProps) {
  const path = apiPath(webhook.id);
  const isRemoval = verb === "Remove";
  return (
    <ChangeDialog
      title={`${verb} the webhook to ${receiverOf(webhook)}?`}
      verb={`${verb} webhook`}
      isDangerous={isRemoval}
      request={isRemoval ? { method: "DELETE", path } : { method: "PATCH", path, body: { disabled: true } }}
      topics={["webhooks"]}
      done={`The webhook is ${isRemoval ? "removed" : "disabled"}.`}
      next={isRemoval ? "/webhooks" : undefined}
      close={close}
    >
      <ul class="stops">
        <li>What waits to be delivered is given up, and new events are not sent.</li>
        {isRemoval ? (
          <li>Its secret and the list of its deliveries are deleted.</li>
        ) : (
          <li>The secret stays, so that it can be enabled again.</li>
        )}
      </ul>
    </ChangeDialog>
  );
}
