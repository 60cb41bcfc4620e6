import { useMemo, useState } from "preact/hooks";

import type { ApiKeyView } from "../../../api/keys.ts";
import { keysEndingWith, makerInWords } from "../../../api/words/key-lineage.ts";
import { mayDo } from "../data/session.ts";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { useNow } from "../parts/relative-time.tsx";
import { actionColumn, type Column, newestFirst } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { type Archive, ListPage } from "../parts/table/list-page.tsx";
import { COLUMNS, type KeyRow } from "./columns.tsx";
import { isOwn, keyText, labelOf, stateOf, useKeys } from "./data.ts";
import { NewKeyDialog } from "./new.tsx";
import { RevokeKey } from "./revoke.tsx";
import { RotateKey } from "./rotate.tsx";

/** A key for enrolments is made anew. */
function mayRotate({ key, state }: KeyRow): boolean {
  return state === "active" && (key.enrollment ?? null) === null;
}

const FILTERING: Filtering<KeyRow> = {
  filters: [
    { id: "state", label: "State", valuesOf: ({ state }) => [state] },
    { id: "scope", label: "May", valuesOf: ({ key: { scopes } }) => scopes ?? ["everything"] },
  ],
  textOf: ({ key, state, maker }) =>
    [labelOf(key), keyText(key), key.id, state, maker, ...(key.scopes ?? ["everything"])].join(" "),
};

/** Expired keys stay among the current ones until they are revoked: robots that still use them cannot register. */
const REVOKED: Archive<KeyRow> = {
  word: "revoked",
  contains: ({ state }) => state === "revoked",
  isLoaded: true,
};

/** `/keys`: API keys with their scopes, active ones first; `?show=revoked`: the revoked ones. */
export function Keys() {
  const keys = useKeys();
  const nowMs = useNow();
  const [revoked, setRevoked] = useState<ApiKeyView | null>(null);
  const [rotated, setRotated] = useState<ApiKeyView | null>(null);
  const items = keys.value?.items;
  // The rows change only when a key expires, not at each tick of the clock.
  const states = items?.map((key) => stateOf(key, nowMs)).join(" ");
  const rows = useMemo(() => {
    const byId = new Map(items?.map((key) => [key.id, key]));
    return newestFirst(items ?? []).map((key) => ({
      key,
      state: stateOf(key, nowMs),
      isOwn: isOwn(key),
      maker: makerInWords(key, byId),
    }));
  }, [items, states]);
  const columns = useMemo(() => {
    const labelFor = ({ key, state }: KeyRow) => (state === "revoked" ? null : `${labelOf(key)}, ${keyText(key)}`);
    const revoke = actionColumn("Revoke", labelFor, ({ key }) => setRevoked(key));
    const rotatedLabelFor = (row: KeyRow) => (mayRotate(row) ? labelFor(row) : null);
    const rotate: Column<KeyRow> = {
      ...actionColumn("Rotate", rotatedLabelFor, ({ key }) => setRotated(key)),
      id: "rotate",
      name: "Replace",
      from: "wide",
    };
    return mayDo("api-keys:write") ? [...COLUMNS, rotate, revoke] : COLUMNS;
  }, []);
  const create = (
    <DialogButton scope="api-keys:write" word="New key" kind="main">
      {(close) => <NewKeyDialog keys={items ?? []} close={close} />}
    </DialogButton>
  );
  return (
    <ListPage
      title="Keys"
      actions={create}
      data={keys}
      emptyTitle="There is no key"
      empty={<p>Robots and programs authenticate with keys. Create one for each, so that each can be revoked alone.</p>}
      archive={REVOKED}
      noun="key"
      columns={columns}
      rows={rows}
      keyOf={({ key }) => key.id}
      sort="state"
      rowHeight="2.75rem"
      cardHeight="12rem"
      filtering={FILTERING}
      hint="Label, last four, scope"
    >
      {rotated === null ? null : <RotateKey apiKey={rotated} close={() => setRotated(null)} />}
      {revoked === null ? null : (
        <RevokeKey
          apiKey={revoked}
          ending={keysEndingWith(revoked, items ?? [], nowMs)}
          close={() => setRevoked(null)}
        />
      )}
    </ListPage>
  );
}
