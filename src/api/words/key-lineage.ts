import type { ApiKeyView } from "../keys.ts";

/** Active keys that end with this one: the keys created with it, the keys created with those, and so on. */
export function keysEndingWith({ id }: ApiKeyView, keys: readonly ApiKeyView[], nowMs: number): readonly ApiKeyView[] {
  const children = Map.groupBy(keys, ({ parent_id: parentId }) => parentId ?? null);
  const found: ApiKeyView[] = [];
  const seen = new Set([id]);
  for (const parent of seen) {
    for (const child of children.get(parent) ?? []) {
      if (seen.has(child.id)) continue;
      seen.add(child.id);
      found.push(child);
    }
  }
  return found.filter(({ revoked_at: revokedAt, expires_at: expiresAt }) => {
    const isPast = typeof expiresAt === "string" && Date.parse(expiresAt) <= nowMs;
    return (revokedAt ?? null) === null && !isPast;
  });
}

/** The key that created a key: `line 4`. */
export function makerInWords(
  { created_by: createdBy }: Pick<ApiKeyView, "created_by">,
  keys: ReadonlyMap<string, ApiKeyView>,
): string {
  if ((createdBy ?? null) === null) return "";
  if (createdBy === "command") return "the service's computer";
  const maker = keys.get(createdBy ?? "");
  return maker?.label || (createdBy ?? "");
}

/** `3 keys made with it`. */
export function keysInWords(count: number): string {
  return `${count} ${count === 1 ? "key" : "keys"} made with it`;
}
