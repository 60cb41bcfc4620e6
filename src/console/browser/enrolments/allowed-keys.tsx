import { useMemo, useState } from "preact/hooks";
import type * as z from "zod";

import type { allowedKeyListSchema, AllowedKeyView } from "../../../api/allowed-keys.ts";
import { type AllowedKeyState, allowedKeyState } from "../../../api/words/allowed-keys.ts";
import { useData } from "../data/use-data.ts";
import { ChangeDialog } from "../parts/form/form-dialog.tsx";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { None } from "../parts/none.tsx";
import { useNow } from "../parts/relative-time.tsx";
import {
  actionColumn,
  badgeColumn,
  type Column,
  fingerprintColumn,
  textColumn,
  endColumn,
  timeColumn,
} from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { robotPath } from "../robots/data.ts";
import { AllowDialog } from "./allow-keys.tsx";

interface AllowedKeyRow {
  readonly entry: AllowedKeyView;
  readonly state: AllowedKeyState;
}

const FILTERING: Filtering<AllowedKeyRow> = {
  filters: [{ id: "state", label: "State", valuesOf: ({ state }) => [state] }],
  textOf: (row) => [row.entry.key_fingerprint, row.entry.id, row.entry.robot, row.state, allowedBy(row)].join(" "),
};

/** `/enrolments/allowed`: the keys whose computers enroll without an approval, each once. */
export function AllowedKeys() {
  const data = useData<z.output<typeof allowedKeyListSchema>>("/v1/robot-allowed-keys", ["enrolments"]);
  const rows = useRows(data.value?.items);
  const [removed, setRemoved] = useState<AllowedKeyView | null>(null);
  const columns = useMemo(
    () => [...COLUMNS, actionColumn<AllowedKeyRow>("Remove", fingerprintOf, ({ entry }) => setRemoved(entry))],
    [],
  );
  const allow = (
    <DialogButton scope="robots:write" word="Allow keys" kind="main">
      {(close) => <AllowDialog close={close} />}
    </DialogButton>
  );
  return (
    <ListPage
      title="Allowed keys"
      up="enrolments"
      actions={allow}
      data={data}
      emptyTitle="No key is allowed"
      empty={
        <p>
          A computer whose key is on this list enrolls without an approval, once.{" "}
          <code>robot-policy-agent enroll --no-wait</code> shows the key of a computer.
        </p>
      }
      noun="allowed key"
      columns={columns}
      rows={rows}
      keyOf={({ entry }) => entry.id}
      sort="-expires"
      rowHeight="2.75rem"
      cardHeight="10.5rem"
      filtering={FILTERING}
      hint="Key, robot, id"
    >
      {removed === null ? null : <RemoveDialog entry={removed} close={() => setRemoved(null)} />}
    </ListPage>
  );
}

function useRows(items: readonly AllowedKeyView[] = NO_KEYS): readonly AllowedKeyRow[] {
  const nowMs = useNow();
  // The rows change only when a key expires, not at each tick of the clock.
  const states = items.map((entry) => allowedKeyState(entry, nowMs)).join(" ");
  return useMemo(() => items.map((entry) => ({ entry, state: allowedKeyState(entry, nowMs) })), [items, states]);
}

const NO_KEYS: readonly AllowedKeyView[] = [];

const COLUMNS: readonly Column<AllowedKeyRow>[] = [
  fingerprintColumn({ track: "minmax(8rem, 2fr)", sortBy: fingerprintOf }, fingerprintOf),
  badgeColumn({ track: "6.5rem" }, ({ state }) => state),
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
  timeColumn({ id: "used", name: "Used", track: "7rem", from: "medium" }, ({ entry }) => entry.used_at),
  endColumn({ id: "expires", name: "Expires", track: "7rem" }, ({ entry }) => entry.expires_at),
  textColumn({ id: "by", name: "Allowed by", track: "minmax(6rem, 1fr)", from: "medium" }, allowedBy),
  timeColumn({ id: "allowed", name: "Allowed", track: "7rem", from: "wide" }, ({ entry }) => entry.created_at),
];

function fingerprintOf({ entry }: AllowedKeyRow): string {
  return entry.key_fingerprint;
}

function allowedBy({ entry: { allowed_by: by } }: AllowedKeyRow): string {
  return by.label ?? by.id;
}

function RemoveDialog({ entry, close }: { readonly entry: AllowedKeyView; close(): void }) {
  return (
    <ChangeDialog
      title="Remove this key from the list?"
      verb="Remove key"
      isDangerous
      request={{ method: "DELETE", path: `/v1/robot-allowed-keys/${encodeURIComponent(entry.id)}` }}
      topics={["enrolments"]}
      done="The key is allowed no more."
      close={close}
    >
      <p class="mono">{entry.key_fingerprint}</p>
      <p>
        {entry.used_at === null
          ? "A computer with this key needs an approval from now on."
          : "The computer that enrolled with it keeps its credential."}
      </p>
    </ChangeDialog>
  );
}
