import { expect, it } from "vitest";

import { announce } from "../../../../src/service/webhooks/announce.ts";
import { createDeliverer } from "../../../../src/service/webhooks/deliver.ts";
import { createOrganizationWebhook, deleteOrganizationWebhook } from "../../../../src/service/webhooks/operations.ts";
import { createReceivers, type Sender } from "../../../../src/service/webhooks/receivers.ts";
import { WEBHOOK_SETTINGS } from "../../../../src/service/webhooks/rules.ts";
import { openServiceParts } from "../../../support/service/service-parts.ts";

it("webhook deleted while its receiver answers 410 → the audit log ends with the deletion", async () => {
  await using parts = await openServiceParts();
  const { store, context } = parts;
  const operations = { ...context, receivers: createReceivers([]) };
  await createOrganizationWebhook(operations)(parts.call({ body: { url: "https://hooks.example/" }, query: null }));
  const { id } = await store.reader.selectFrom("webhooks").select("id").executeTakeFirstOrThrow();
  await store.write((transaction) =>
    announce(transaction, context, {
      organizationId: "org_1",
      type: "robot.registered",
      at: parts.at(),
      data: () => ({}),
    }),
  );
  const sender: Sender = {
    async send() {
      await deleteOrganizationWebhook(operations)(parts.call({ body: null, query: null, path: { webhook_id: id } }));
      return { state: "answered", status: 410 };
    },
    async [Symbol.asyncDispose]() {},
  };
  const deliverer = createDeliverer(context, WEBHOOK_SETTINGS, sender);
  await deliverer.task.run(new AbortController().signal);
  await deliverer[Symbol.asyncDispose]();
  const entries = await store.reader.selectFrom("audit_log").select("action").orderBy("id").execute();
  expect(entries.map(({ action }) => action)).toEqual(["webhook.create", "webhook.delete"]);
});
