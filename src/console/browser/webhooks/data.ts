import type * as z from "zod";

import type { deliveryListSchema, webhookListSchema, WebhookView } from "../../../api/webhooks.ts";
import { type Data, useData } from "../data/use-data.ts";

export function useWebhooks(): Data<z.output<typeof webhookListSchema>> {
  return useData("/v1/webhooks", ["webhooks"]);
}

export function useWebhook(id: string): Data<WebhookView> {
  return useData(apiPath(id), ["webhooks"]);
}

/** Deliveries shown on the page of a webhook. */
export const DELIVERIES = 100;

/** The newest deliveries. */
export function useDeliveries(id: string): Data<z.output<typeof deliveryListSchema>> {
  return useData(`${apiPath(id)}/deliveries?limit=${DELIVERIES}`, ["webhooks"]);
}

/** Of the API. */
export function apiPath(id: string): string {
  return `/v1/webhooks/${encodeURIComponent(id)}`;
}

/** Of the console's page. */
export function webhookPath(id: string): string {
  return `/webhooks/${encodeURIComponent(id)}`;
}
