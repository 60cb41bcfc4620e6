import type { ApiKeyView } from "../api/api-keys.ts";

/** How API keys are put for a person, wherever they are shown. */

/** `sk_rps_…a1B2`: as much of a key as may be seen. */
export function shownKey({ key_prefix, key_last4 }: ApiKeyView): string {
  return [key_prefix, key_last4].filter((part) => (part ?? "") !== "").join("…");
}
