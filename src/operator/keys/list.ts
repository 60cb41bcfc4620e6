import { operations } from "../../api/api.ts";
import type { ApiKeyView } from "../../api/keys.ts";
import { makerInWords } from "../../api/words/key-lineage.ts";
import type { OperatorCommand } from "../context.ts";
import type { ListView } from "../lists/columns.ts";
import { itemsIn, type LoadList, mapListed } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { type Now, timeAgo, timeUntil } from "../times.ts";

/** A key, with the name of the key that created it. */
type ListedKey = ApiKeyView & { readonly maker: string };

const keysView: ListView<ListedKey> = {
  headers: ["label", "key", "scopes", "created", "last used", "state", "uses", "made with", "id"],
  prose: ["label", "scopes", "made with"],
  spare: ["last used", "created", "made with", "id"],
  row: (key, now) => [
    key.label ?? "",
    shownKey(key),
    // Null means all scopes; undefined means that the service does not show scopes.
    key.scopes === null ? "everything" : (key.scopes?.join(" ") ?? ""),
    timeAgo(key.created_at, now),
    key.last_used_at === null ? "never" : timeAgo(key.last_used_at, now),
    stateOf(key, now),
    (key.uses_remaining ?? null) === null ? "" : `${key.uses_remaining} left`,
    key.maker,
    key.id,
  ],
  id: ({ id }) => id,
  empty: "There are no API keys.",
};

function stateOf({ revoked_at: revokedAt, expires_at: expiresAt }: ApiKeyView, now: Now): string {
  if ((revokedAt ?? null) !== null) return `revoked ${timeAgo(revokedAt, now)}`;
  if ((expiresAt ?? null) === null) return revokedAt === undefined ? "" : "works";
  const isPast = Date.parse(expiresAt ?? "") <= now.ms;
  return `${isPast ? "expired" : "expires"} ${timeUntil(expiresAt, now)}`;
}

/** `keys list`: every API key of the organization, without the secrets. */
export const keysList: OperatorCommand = (flags, context) =>
  withService(flags, context, (service) => {
    const load: LoadList<ListedKey> = async () => {
      const result = await service.listAll(operations.listApiKeys, ({ items }) => items);
      if (result.kind !== "ok") return result;
      const keys = new Map(itemsIn(result.value).map((key) => [key.id, key]));
      return { ...result, value: mapListed(result.value, (key) => ({ ...key, maker: makerInWords(key, keys) })) };
    };
    return showList(service, load, keysView);
  });

/** `sk_rps_…a1B2`: the public parts of a key. */
export function shownKey({ key_prefix: keyPrefix, key_last4: keyLast4 }: ApiKeyView): string {
  return [keyPrefix, keyLast4].filter((part) => (part ?? "") !== "").join("…");
}
