/** What operators see of API keys: their list, what a revocation ends, and how long a new one works. */
import type { ApiKeyView } from "../api/keys.ts";
import { future, type Listing, past, present } from "./view.ts";

export type KeyState = "active" | "expired" | "revoked";

/** A key, and what the other keys and the time say of it. */
export interface KeyItem extends ApiKeyView {
  /** Null where the service does not say. */
  readonly state: KeyState | null;
  /** The key that created it, in words; "" if that is not known. */
  readonly maker: string;
}

export function keyItems(keys: readonly ApiKeyView[], nowMs: number): readonly KeyItem[] {
  return keys.map(keyItemAmong(keys, nowMs));
}

export function keyItemAmong(keys: readonly ApiKeyView[], nowMs: number): (key: ApiKeyView) => KeyItem {
  const byId = new Map(keys.map((key) => [key.id, key]));
  return (key) => ({ ...key, state: stateOf(key, nowMs), maker: makerOf(key, byId) });
}

function stateOf({ revoked_at: revokedAt, expires_at: expiresAt }: ApiKeyView, nowMs: number): KeyState | null {
  if (typeof revokedAt === "string") return "revoked";
  if (typeof expiresAt === "string" && Date.parse(expiresAt) <= nowMs) return "expired";
  return revokedAt === undefined && expiresAt === undefined ? null : "active";
}

export function hasEnded(key: ApiKeyView, nowMs: number): boolean {
  const state = stateOf(key, nowMs);
  return state === "expired" || state === "revoked";
}

function makerOf({ created_by: createdBy }: ApiKeyView, keys: ReadonlyMap<string, ApiKeyView>): string {
  if (createdBy === null || createdBy === undefined) return "";
  if (createdBy === "command") return "the service's computer";
  return keys.get(createdBy)?.label || createdBy;
}

const STATES: readonly (KeyState | null)[] = ["active", "expired", "revoked"];

export const KEYS: Listing<KeyItem> = {
  noun: "key",
  columns: [
    { name: "label", show: ({ label }) => label ?? "", weight: 2 },
    {
      name: "state",
      show: ({ state }) => (state === null ? null : { kind: "state", state }),
      sortKey: ({ state }) => STATES.indexOf(state),
    },
    { name: "key", show: keyText },
    {
      name: "scopes",
      show: ({ scopes }) => scopesText(scopes),
      sortKey: ({ scopes }) => scopes?.length ?? 99,
    },
    { name: "uses", show: usesText, sortKey: ({ uses_remaining: uses }) => uses ?? null, from: "wide" },
    {
      name: "last used",
      show: ({ last_used_at: at }) => (at === null ? "never" : past(at)),
      sortKey: ({ last_used_at: at }) => Date.parse(at ?? "") || null,
    },
    { name: "expires", show: ({ expires_at: at }) => future(at), from: "medium" },
    { name: "created", show: ({ created_at: at }) => past(at), from: "wide" },
    { name: "made with", show: ({ maker }) => maker, from: "wide" },
    { name: "revoked", show: ({ revoked_at: at }) => past(at), from: "wide" },
    { name: "id", show: ({ id }) => id, from: "terminal" },
  ],
  filters: [
    { name: "state", valuesOf: ({ state }) => present(state) },
    { name: "scope", valuesOf: ({ scopes }) => scopes ?? ["everything"] },
  ],
  empty: "There are no API keys",
};

/** Null means all scopes; undefined means that the service does not show them. */
export function scopesText(scopes: ApiKeyView["scopes"]): string {
  return scopes === null ? "everything" : (scopes?.join(", ") ?? "");
}

/** `3 of 20 left`; null for a key without a limit. */
export function usesText({ uses_remaining: left, enrollment }: ApiKeyView): string | null {
  if (typeof left !== "number") return null;
  return enrollment === null || enrollment === undefined ? `${left} left` : `${left} of ${enrollment.uses} left`;
}

/** `sk_rps_…a1B2`: the service stores no more of the key in plain text. */
export function keyText({ key_prefix: keyPrefix, key_last4: keyLast4 }: ApiKeyView): string {
  return [keyPrefix, keyLast4].filter((part) => (part ?? "") !== "").join("…");
}

/** The label of a key, or else its prefix and last four characters. */
export function labelOf(key: ApiKeyView): string {
  return key.label?.trim() ? key.label : keyText(key) || key.id;
}

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
  return found.filter((key) => !hasEnded(key, nowMs));
}

/** `3 keys made with it`. */
export function keysInWords(count: number): string {
  return `${count} ${count === 1 ? "key" : "keys"} made with it`;
}

const LABELS_SHOWN = 5;

/** What a revocation ends, beside the key itself. @param ending the keys that end with it. */
export function revocationEnds(key: ApiKeyView, ending: readonly ApiKeyView[]): readonly string[] {
  const labels = ending.slice(0, LABELS_SHOWN).map(labelOf).join(", ");
  const more = ending.length > LABELS_SHOWN ? ` and ${ending.length - LABELS_SHOWN} more` : "";
  return [
    "Every request with it is refused from then on.",
    ...(ending.length === 0 ? [] : [`It also ends ${keysInWords(ending.length)}: ${labels}${more}.`]),
    ...([key, ...ending].some(registers) ? ["Robots that use it keep running, but cannot register changes."] : []),
    "Everybody who signed in with it, in a browser or at a command line, is signed out.",
    "It cannot be undone.",
  ];
}

function registers({ scopes }: ApiKeyView): boolean {
  return scopes?.includes("robots:setup") ?? true;
}

/** What a rotation does. */
export const ROTATED =
  "A new key with the same scopes takes its place: the keys and logins that were made with it depend on the new one from then on. " +
  "A key that leaked is revoked instead.";

const DAY_MS = 86_400_000;
/** How long a key works by default that may do more than register robots. */
export const USUAL_DAYS = 90;

/** When a new key ends unless its maker says something else; null for never. */
export function usualEnd(scopes: readonly string[] | null, nowMs: number): string | null {
  if (scopes?.every((scope) => scope === "robots:setup") === true) return null;
  return new Date(nowMs + USUAL_DAYS * DAY_MS).toISOString();
}

/** When a key ends by the choice of a form: never, or after so many days. @returns ISO 8601; null for never. */
export function expiryOf(choice: string, nowMs: number): string | null {
  return choice === "" || choice === "never" ? null : new Date(nowMs + Number(choice) * DAY_MS).toISOString();
}
