import { useMemo, useState } from "preact/hooks";

import type { ApiKeyView } from "../../../../api/api-keys.ts";
import { mayDo } from "../data/session.ts";
import { EmptyState } from "../parts/empty-state.tsx";
import type { Filtering } from "../parts/filter-bar.tsx";
import { FilteredTable } from "../parts/filtered-table.tsx";
import { Icon } from "../parts/icon.tsx";
import { ProblemNotice, StaleNotice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { useNow } from "../parts/relative-time.tsx";
import { number } from "../parts/text.ts";
import type { KeyRow } from "./key-columns.tsx";
import { actions, COLUMNS } from "./key-columns.tsx";
import { isOwn, keyText, labelOf, momentOf, stateOf, useKeys } from "./key-data.ts";
import { NewKeyDialog } from "./key-new.tsx";
import { RevokeKey } from "./key-revoke.tsx";

const FILTERING: Filtering<KeyRow> = {
  filters: [
    { id: "state", label: "State", valuesOf: ({ state }) => [state] },
    { id: "scope", label: "May", valuesOf: ({ key: { scopes } }) => scopes ?? ["everything"] },
  ],
  textOf: ({ key, state }) => [labelOf(key), keyText(key), key.id, state, ...(key.scopes ?? ["everything"])].join(" "),
};

/** `/keys`: who may do what at this service; keys that work first. */
export function Keys() {
  const keys = useKeys();
  const now_ms = useNow();
  const [is_making, setMaking] = useState(false);
  const [revoked, setRevoked] = useState<ApiKeyView | null>(null);
  const items = keys.state === "ready" ? keys.value.items : undefined;
  // Not again at each tick, but when it makes a key expire.
  const states = items?.map((key) => stateOf(key, now_ms)).join(" ");
  const rows = useMemo(
    () => newestFirst(items ?? []).map((key) => ({ key, state: stateOf(key, now_ms), is_own: isOwn(key) })),
    [items, states],
  );
  const columns = useMemo(() => (mayDo("api-keys:write") ? [...COLUMNS, actions(setRevoked)] : COLUMNS), []);
  const make = mayDo("api-keys:write") ? (
    <button type="button" class="button button-main" onClick={() => setMaking(true)}>
      <Icon name="plus" />
      New key
    </button>
  ) : undefined;
  const active = rows.filter(({ state }) => state === "active").length;
  return (
    <Page title="Keys" count={items === undefined ? undefined : `${number(active)} active`} actions={make}>
      {keys.state === "failed" ? (
        <ProblemNotice problem={keys.problem} what="the keys" retry={keys.retry} />
      ) : items?.length === 0 ? (
        <EmptyState title="There is no key">
          <p>
            Robots and programs sign their requests with keys. Make one for each, so that each can be revoked alone.
          </p>
        </EmptyState>
      ) : (
        <>
          {keys.state === "ready" && keys.problem !== null ? (
            <StaleNotice problem={keys.problem} what="the keys" />
          ) : null}
          <FilteredTable
            caption="Keys"
            noun="key"
            columns={columns}
            rows={rows}
            keyOf={({ key }) => key.id}
            sort="state"
            is_loading={keys.state === "loading"}
            row_height="2.75rem"
            card_height="12rem"
            filtering={FILTERING}
            hint="Label, last four, scope"
          />
        </>
      )}
      {is_making ? <NewKeyDialog close={() => setMaking(false)} /> : null}
      {revoked === null ? null : <RevokeKey apiKey={revoked} close={() => setRevoked(null)} />}
    </Page>
  );
}

/** Within a state the newest is looked for. */
function newestFirst(keys: readonly ApiKeyView[]): readonly ApiKeyView[] {
  return [...keys].sort((left, right) => (momentOf(right.created_at) ?? 0) - (momentOf(left.created_at) ?? 0));
}
