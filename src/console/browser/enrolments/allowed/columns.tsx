import type { AllowedKeyView } from "../../../../api/allowed-keys.ts";
import { None } from "../../parts/none.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import type { Column } from "../../parts/table/columns.tsx";
import { textColumn, timeColumn } from "../../parts/table/columns.tsx";
import { robotPath } from "../../robots/data.ts";
import type { AllowedKeyRow } from "./data.ts";

export const COLUMNS: readonly Column<AllowedKeyRow>[] = [
  {
    id: "key",
    name: "Key",
    track: "minmax(8rem, 2fr)",
    cell: ({ entry: { key_fingerprint: key } }) => (
      <span class="mono cut" title={key}>
        {key}
      </span>
    ),
    sortBy: ({ entry }) => entry.key_fingerprint,
  },
  {
    id: "state",
    name: "State",
    track: "6.5rem",
    isPlainOnCard: true,
    cell: ({ state }) => <StatusBadge status={state} />,
    sortBy: ({ state }) => state,
  },
  {
    id: "robot",
    name: "Robot",
    track: "minmax(6rem, 1fr)",
    cell: ({ entry: { robot, robot_id: id } }) =>
      robot === null || id === null ? (
        <None />
      ) : (
        <a class="cut" href={robotPath(robot, id)}>
          {robot}
        </a>
      ),
    sortBy: ({ entry }) => entry.robot,
  },
  timeColumn({ id: "used", name: "Used", track: "6.25rem", from: "medium" }, ({ entry }) => entry.used_at),
  timeColumn({ id: "expires", name: "Expires", track: "6.25rem" }, ({ entry }) => entry.expires_at),
  textColumn({ id: "by", name: "Allowed by", track: "minmax(6rem, 1fr)", from: "medium" }, allowedBy),
  timeColumn({ id: "allowed", name: "Allowed", track: "6.25rem", from: "wide" }, ({ entry }) => entry.created_at),
];

export function allowedBy({ entry: { allowed_by: by } }: AllowedKeyRow): string {
  return by.label ?? by.id;
}

/** The column with the button to take a key off the list. */
export function actions(remove: (entry: AllowedKeyView) => void): Column<AllowedKeyRow> {
  return {
    id: "actions",
    name: "Action",
    track: "6.75rem",
    isPlainOnCard: true,
    cell: ({ entry }) => (
      <button type="button" class="button" aria-label={`Remove ${entry.key_fingerprint}`} onClick={() => remove(entry)}>
        Remove
      </button>
    ),
  };
}
