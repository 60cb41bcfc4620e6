import type { ApiKeyView } from "./api-keys.ts";

/** Keys that work now and end with this one: those made with it, those made with these, and so on. */
export function keysEndingWith({ id }: ApiKeyView, keys: readonly ApiKeyView[], now_ms: number): readonly ApiKeyView[] {
  const children = Map.groupBy(keys, ({ parent_id }) => parent_id ?? null);
  const found: ApiKeyView[] = [];
  const seen = new Set([id]);
  for (const parent of seen) {
    for (const child of children.get(parent) ?? []) {
      if (seen.has(child.id)) continue;
      seen.add(child.id);
      found.push(child);
    }
  }
  return found.filter(({ revoked_at, expires_at }) => {
    const isPast = typeof expires_at === "string" && Date.parse(expires_at) <= now_ms;
    return (revoked_at ?? null) === null && !isPast;
  });
}

/** With which key a key was made, for a person: `line 4`, or `line 4, independent` where it goes on without that. */
export function makerInWords({ created_by, parent_id }: ApiKeyView, keys: ReadonlyMap<string, ApiKeyView>): string {
  if ((created_by ?? null) === null) return "";
  if (created_by === "command") return "the service's computer";
  const maker = keys.get(created_by ?? "");
  const name = (maker?.label ?? "") === "" ? created_by : maker?.label;
  return parent_id === null ? `${name}, independent` : `${name}`;
}

/** `3 keys made with it`. */
export function keysInWords(count: number): string {
  return `${count} ${count === 1 ? "key" : "keys"} made with it`;
}
