import { operations } from "../../api/api.ts";
import type { ApiKeyView } from "../../api/keys.ts";
import { makerInWords } from "../../api/words/key-lineage.ts";
import { keyRobotsInWords } from "../../api/words/key-robots.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { OperatorContext } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import type { ListView } from "../lists/columns.ts";
import type { Listed } from "../lists/listed.ts";
import { itemsIn } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { shownKey } from "./words.ts";

/** A key, with the name of the key that created it. */
type ListedKey = ApiKeyView & { readonly maker: string };

const keysView: ListView<ListedKey> = {
  headers: ["label", "key", "scopes", "created", "last used", "state", "uses", "made with", "id"],
  prose: ["label", "scopes", "made with"],
  spare: ["last used", "created", "made with", "id"],
  row: (key, nowMs) => [
    key.label ?? "",
    shownKey(key),
    // Null means all scopes; undefined means that the service does not show scopes.
    `${key.scopes === null ? "everything" : (key.scopes?.join(" ") ?? "")}${keyRobotsInWords(key)}`,
    relativeTime(key.created_at, nowMs),
    key.last_used_at === null ? "never" : relativeTime(key.last_used_at, nowMs),
    stateOf(key, nowMs),
    (key.uses_remaining ?? null) === null ? "" : `${key.uses_remaining} left`,
    key.maker,
    key.id,
  ],
  id: ({ id }) => id,
  empty: "There are no API keys.",
};

function stateOf({ revoked_at: revokedAt, expires_at: expiresAt }: ApiKeyView, nowMs: number): string {
  if ((revokedAt ?? null) !== null) return `revoked ${relativeTime(revokedAt, nowMs)}`;
  if ((expiresAt ?? null) === null) return revokedAt === undefined ? "" : "works";
  const isPast = Date.parse(expiresAt ?? "") <= nowMs;
  return `${isPast ? "expired" : "expires"} ${relativeTime(expiresAt, nowMs)}`;
}

/** `keys list`: every API key of the organization, without the secrets. */
export async function keysList(flags: OperatorFlags, context: OperatorContext): Promise<ExitCode> {
  return withService(flags, context, (service) => {
    const load = async () => withMakers(await service.listAll(operations.listApiKeys, ({ items }) => items));
    return showList(service, load, keysView, flags, context);
  });
}

function withMakers(result: CallResult<Listed<ApiKeyView>>): CallResult<Listed<ListedKey>> {
  if (result.kind !== "ok") return result;
  const keys = new Map(itemsIn(result.value).map((key) => [key.id, key]));
  const records = result.value.records.map(({ item, document }) => ({
    item: { ...item, maker: makerInWords(item, keys) },
    document,
  }));
  return { ...result, value: { ...result.value, records } };
}
