import { useMemo, useState } from "preact/hooks";

import type { AllowedKeyView } from "../../../../api/allowed-keys.ts";
import { ChangeDialog } from "../../parts/form/change-dialog.tsx";
import { DialogButton } from "../../parts/form/dialog-button.tsx";
import { Page } from "../../parts/page.tsx";
import { DataTable } from "../../parts/table/data-table.tsx";
import type { Filtering } from "../../parts/table/filter-bar.tsx";
import { number } from "../../parts/text.ts";
import { AllowDialog } from "./allow.tsx";
import { actions, allowedBy, COLUMNS } from "./columns.tsx";
import type { AllowedKeyRow } from "./data.ts";
import { useAllowedKeys } from "./data.ts";

const FILTERING: Filtering<AllowedKeyRow> = {
  filters: [{ id: "state", label: "State", valuesOf: ({ state }) => [state] }],
  textOf: (row) => [row.entry.key_fingerprint, row.entry.id, row.entry.robot, row.state, allowedBy(row)].join(" "),
};

/** `/enrolments/allowed`: the keys whose computers enrol without an approval, each once. */
export function AllowedKeys() {
  const { data, rows } = useAllowedKeys();
  const [removed, setRemoved] = useState<AllowedKeyView | null>(null);
  const columns = useMemo(() => [...COLUMNS, actions(setRemoved)], []);
  const allow = (
    <DialogButton scope="robots:write" word="Allow keys" kind="main">
      {(close) => <AllowDialog close={close} />}
    </DialogButton>
  );
  return (
    <Page
      title="Allowed keys"
      count={data.state === "ready" ? number(rows.length) : undefined}
      up={{ href: "/enrolments", word: "Enrolments" }}
      actions={allow}
    >
      <DataTable
        data={data}
        emptyTitle="No key is allowed"
        empty={<NoAllowedKeys />}
        noun="allowed key"
        columns={columns}
        rows={rows}
        keyOf={({ entry }) => entry.id}
        sort="-expires"
        rowHeight="2.75rem"
        cardHeight="10.5rem"
        filtering={FILTERING}
        hint="Key, robot, id"
      />
      {removed === null ? null : <RemoveDialog entry={removed} close={() => setRemoved(null)} />}
    </Page>
  );
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

function NoAllowedKeys() {
  return (
    <p>
      A computer whose key is on this list enrols without an approval, once.{" "}
      <code>robot-policy-agent enroll --no-wait</code> shows the key of a computer.
    </p>
  );
}
