import type { ApiKeyView } from "../../api/keys.ts";

/** The wording for API keys in all commands. */

/** `sk_rps_…a1B2`: the public parts of a key. */
export function shownKey({ key_prefix: keyPrefix, key_last4: keyLast4 }: ApiKeyView): string {
  return [keyPrefix, keyLast4].filter((part) => (part ?? "") !== "").join("…");
}
