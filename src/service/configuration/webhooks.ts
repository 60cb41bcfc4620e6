import { fail, mapping } from "../../manifest/fields.ts";
import type { Reader } from "../../manifest/fields.ts";
import { list, string } from "../../manifest/readers.ts";
import { shown } from "../../manifest/shown.ts";
import { WEBHOOK_SETTINGS } from "../webhooks/index.ts";
import type { WebhookSettings } from "../webhooks/index.ts";
import { isAddressOrNetwork } from "./readers.ts";

const ALLOWED_MAXIMUM = 256;
const HOST = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9][a-z0-9-]{0,62})*$/i;

/** A host, an address, or a network (CIDR). */
const receiver: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  if (isAddressOrNetwork(written) || HOST.test(written)) return written;
  const message = `${shown(written)} is not a host, address or network, such as hooks.lab or 10.0.0.0/8`;
  return fail(place, "address_format", message);
};

export const readWebhooks: Reader<WebhookSettings> = mapping((fields) => {
  const allow = fields.optional("allow", list({ minimum: 0, maximum: ALLOWED_MAXIMUM }, receiver));
  return { ...WEBHOOK_SETTINGS, allow: allow ?? WEBHOOK_SETTINGS.allow };
});
