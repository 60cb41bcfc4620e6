import type { ApiKeyView } from "../../api/keys.ts";

/** How API keys are put for a person, wherever they are shown. */

/** `sk_rps_…a1B2`: as much of a key as may be seen. */
export function shownKey({ key_prefix: keyPrefix, key_last4: keyLast4 }: ApiKeyView): string {
  return [keyPrefix, keyLast4].filter((part) => (part ?? "") !== "").join("…");
}
