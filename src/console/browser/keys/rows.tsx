/** What pages know of API keys, and the columns of their list. */
import type * as z from "zod";

import type { apiKeyListSchema, ApiKeyView } from "../../../api/keys.ts";
import { relativeTime } from "../../../platform/text/relative-time.ts";
import { mayDo, sessionView } from "../data/session.ts";
import { type Data, useData } from "../data/query.ts";
import { RelativeTime } from "../parts/relative-time.tsx";
import { badgeColumn, type Column, timeColumn } from "../parts/table/columns.tsx";
import { countedOf, momentOf } from "../parts/text.ts";

export interface KeyRow {
  readonly key: ApiKeyView;
  readonly state: KeyState;
  readonly isOwn: boolean;
  /** The key that created it, in words. */
  readonly maker: string;
}

const STATES: readonly KeyState[] = ["active", "expired", "revoked"];

export const COLUMNS: readonly Column<KeyRow>[] = [
  {
    id: "label",
    name: "Label",
    track: "minmax(7rem, 2fr)",
    cell: ({ key, isOwn }) => (
      <span class="name-and-mark">
        <span class="cut" title={labelOf(key)}>
          {labelOf(key)}
        </span>
        {isOwn ? (
          <span class="label" title="You signed in with this key">
            yours
          </span>
        ) : null}
      </span>
    ),
    sortBy: ({ key }) => labelOf(key),
  },
  badgeColumn({ track: "6.5rem", sortBy: ({ state }) => STATES.indexOf(state) }, ({ state }) => state),
  {
    id: "key",
    name: "Key",
    track: "7rem",
    cell: ({ key }) => <span class="mono">{keyText(key)}</span>,
  },
  {
    id: "scopes",
    name: "May",
    track: "minmax(4rem, 1.6fr)",
    cell: ({ key }) => <Allowed apiKey={key} />,
    sortBy: ({ key: { scopes } }) => scopes?.length ?? Number.POSITIVE_INFINITY,
    first: "down",
  },
  timeColumn(
    { id: "used", name: "Last used", track: "7rem", cell: ({ key }) => <TimeOrNever at={key.last_used_at} /> },
    ({ key }) => key.last_used_at,
  ),
  {
    id: "expires",
    name: "Expires",
    track: "7rem",
    from: "medium",
    cell: ({ key }) => <TimeOrNever at={key.expires_at} inWords={relativeTime} />,
    sortBy: ({ key }) => momentOf(key.expires_at),
  },
  timeColumn({ id: "created", name: "Created", track: "7rem", from: "medium" }, ({ key }) => key.created_at),
  {
    id: "maker",
    name: "Made with",
    track: "minmax(6rem, 1fr)",
    from: "wide",
    cell: ({ maker }) => <span title={maker}>{maker}</span>,
    sortBy: ({ maker }) => maker,
  },
  timeColumn({ id: "revoked", name: "Revoked", track: "7rem", from: "wide" }, ({ key }) => key.revoked_at),
];

export function useKeys(): Data<z.output<typeof apiKeyListSchema>> {
  return useData("/v1/me/api-keys", ["keys"]);
}

export type KeyState = "active" | "expired" | "revoked";

export function stateOf({ revoked_at: revokedAt, expires_at: expiresAt }: ApiKeyView, nowMs: number): KeyState {
  if (revokedAt !== null && revokedAt !== undefined) return "revoked";
  if (expiresAt !== null && expiresAt !== undefined && Date.parse(expiresAt) <= nowMs) return "expired";
  return "active";
}

/** Prefix and last four characters: the service stores no more of the key in plain text. */
export function keyText({ key_prefix: keyPrefix, key_last4: keyLast4 }: ApiKeyView): string {
  return `${keyPrefix ?? ""}…${keyLast4 ?? ""}`;
}

/** The label of a key, or else its prefix and last four characters. */
export function labelOf(key: ApiKeyView): string {
  const { label } = key;
  return label === null || label === undefined || label.trim() === "" ? keyText(key) : label;
}

/** Whether the person is signed in by this key. */
export function isOwn({ id }: ApiKeyView): boolean {
  return sessionView()?.credential?.api_key_id === id;
}

function TimeOrNever({ at, ...props }: Parameters<typeof RelativeTime>[0]) {
  return at === null ? <span class="muted">never</span> : <RelativeTime at={at} {...props} />;
}

function Allowed({ apiKey }: { readonly apiKey: ApiKeyView }) {
  const scopes = apiKey.scopes ?? null;
  if (scopes === null) return <span>everything</span>;
  const uses = apiKey.uses_remaining ?? null;
  const text = scopes.join(", ");
  if (uses === null) return <span title={text}>{text}</span>;
  const left = `${countedOf(uses, apiKey.enrollment?.uses ?? uses, "use")} left`;
  const whole = `${text}, ${left}`;
  if (!mayDo("audit:read")) return <span title={whole}>{whole}</span>;
  // Which robots used it, when, and from where.
  const query = new URLSearchParams({ what: "robot.enroll", by: apiKey.label ?? apiKey.id });
  return (
    <span title={whole}>
      {text}, <a href={`/audit?${query.toString()}`}>{left}</a>
    </span>
  );
}
