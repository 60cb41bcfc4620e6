import type { ApiKeyView } from "../../../api/keys.ts";
import { keyRobotsInWords } from "../../../api/words/key-robots.ts";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import type { Column } from "../parts/table/column.ts";
import type { KeyState } from "./data.ts";
import { keyText, labelOf, momentOf } from "./data.ts";

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
    track: "minmax(10rem, 2fr)",
    cell: ({ key, isOwn }) => (
      <span class="key-label">
        <span class="cut" title={labelOf(key)}>
          {labelOf(key)}
        </span>
        {isOwn ? (
          <span class="label" title="You are signed in by this key">
            yours
          </span>
        ) : null}
      </span>
    ),
    sortBy: ({ key }) => labelOf(key),
  },
  {
    id: "state",
    name: "State",
    track: "7.25rem",
    isPlainOnCard: true,
    cell: ({ state }) => <StatusBadge status={state} />,
    sortBy: ({ state }) => STATES.indexOf(state),
  },
  {
    id: "key",
    name: "Key",
    track: "8.5rem",
    cell: ({ key }) => <span class="mono">{keyText(key)}</span>,
  },
  {
    id: "scopes",
    name: "May",
    track: "minmax(7rem, 1.6fr)",
    isWideOnCard: true,
    cell: ({ key }) => <Allowed apiKey={key} />,
    sortBy: ({ key: { scopes } }) => scopes?.length ?? Number.POSITIVE_INFINITY,
    first: "down",
  },
  {
    id: "used",
    name: "Last used",
    track: "7rem",
    cell: ({ key: { last_used_at: lastUsedAt } }) =>
      lastUsedAt === null ? <span class="muted">never</span> : <RelativeTime at={lastUsedAt} />,
    sortBy: ({ key: { last_used_at: lastUsedAt } }) => momentOf(lastUsedAt),
    first: "down",
  },
  {
    id: "expires",
    name: "Expires",
    track: "7rem",
    from: "medium",
    cell: ({ key: { expires_at: expiresAt } }) =>
      expiresAt === null ? <span class="muted">never</span> : <RelativeTime at={expiresAt} />,
    sortBy: ({ key: { expires_at: expiresAt } }) => momentOf(expiresAt),
  },
  {
    id: "created",
    name: "Created",
    track: "7rem",
    from: "medium",
    cell: ({ key: { created_at: createdAt } }) => <RelativeTime at={createdAt} />,
    sortBy: ({ key: { created_at: createdAt } }) => momentOf(createdAt),
    first: "down",
  },
  {
    id: "maker",
    name: "Made with",
    track: "minmax(6rem, 1fr)",
    from: "medium",
    cell: ({ maker }) => (
      <span class="cut" title={maker}>
        {maker}
      </span>
    ),
    sortBy: ({ maker }) => maker,
  },
  {
    id: "revoked",
    name: "Revoked",
    track: "7rem",
    from: "wide",
    cell: ({ key: { revoked_at: revokedAt } }) => <RelativeTime at={revokedAt} />,
    sortBy: ({ key: { revoked_at: revokedAt } }) => momentOf(revokedAt),
    first: "down",
  },
];

/** The column with the button to revoke a key. */
export function actions(revoke: (key: ApiKeyView) => void): Column<KeyRow> {
  return {
    id: "actions",
    name: "Action",
    track: "6.75rem",
    isPlainOnCard: true,
    cell: ({ key, state }) =>
      state === "revoked" ? null : (
        <button
          type="button"
          class="button"
          aria-label={`Revoke ${labelOf(key)}, ${keyText(key)}`}
          onClick={() => revoke(key)}
        >
          Revoke
        </button>
      ),
  };
}

function Allowed({ apiKey }: { readonly apiKey: ApiKeyView }) {
  const scopes = apiKey.scopes ?? null;
  if (scopes === null) return <span>everything</span>;
  const text = scopes.join(", ") + keyRobotsInWords(apiKey);
  return <span title={text}>{text}</span>;
}
