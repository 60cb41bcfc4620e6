import { useMemo, useState } from "preact/hooks";

import type { ApiKeyView } from "../../../api/keys.ts";
import { keysEndingWith, keysInWords, makerInWords } from "../../../api/words/key-lineage.ts";
import { visible } from "../../../platform/text/visible.ts";
import { mayDo } from "../data/session.ts";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { ChangeDialog } from "../parts/form/form-dialog.tsx";
import { RelativeTime, useNow } from "../parts/relative-time.tsx";
import { actionColumn, type Column, newestFirst } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { type Archive, ListPage } from "../parts/table/list-page.tsx";
import { NewKeyDialog } from "./new.tsx";
import { RotateKey } from "./rotate.tsx";
import { COLUMNS, isOwn, type KeyRow, keyText, labelOf, stateOf, useKeys } from "./rows.tsx";

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
  const rows = useMemo(() => {
    const byId = new Map(items?.map((key) => [key.id, key]));
    return newestFirst(items ?? []).map((key) => ({
      key,
      state: stateOf(key, nowMs),
      isOwn: isOwn(key),
      maker: makerInWords(key, byId),
    }));
  }, [items, nowMs]);
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

interface RevokeKeyProps {
  readonly apiKey: ApiKeyView;
  /** The keys that end with it. */
  readonly ending: readonly ApiKeyView[];
  close(): void;
}

/** A longer label is not asked for. */
const TYPED_LENGTH = 40;

/** Revokes a key; shows what stops working, and asks to type the label, because labels are easily confused. */
function RevokeKey({ apiKey: key, ending, close }: RevokeKeyProps) {
  return (
    <ChangeDialog
      title={`Revoke ${labelOf(key)}?`}
      verb="Revoke key"
      isDangerous
      nameToType={nameToType(key)}
      request={{ method: "DELETE", path: `/v1/me/api-keys/${encodeURIComponent(key.id)}` }}
      topics={["keys"]}
      done={`${labelOf(key)} is revoked.`}
      close={close}
    >
      <ul class="stops">
        <li>
          Every request with <span class="mono">{keyText(key)}</span> is refused from now on. <LastUse apiKey={key} />
        </li>
        {ending.length > 0 ? (
          <li>
            <b>This also ends {keysInWords(ending.length)}:</b> {labelsOf(ending)}.
          </li>
        ) : null}
        {[key, ...ending].some(registers) ? (
          <li>Robots that use it keep running, but cannot register changes.</li>
        ) : null}
        <li>Everybody who signed in with it, here or at a command line, is signed out.</li>
        {[key, ...ending].some(isOwn) ? (
          <li>
            <b>This includes you: you signed in with {isOwn(key) ? "this key" : "one of these keys"}.</b>
          </li>
        ) : null}
        <li>This cannot be undone.</li>
      </ul>
    </ChangeDialog>
  );
}

function LastUse({ apiKey: { last_used_at: lastUsedAt } }: Pick<RevokeKeyProps, "apiKey">) {
  if (lastUsedAt === null || lastUsedAt === undefined) return <>It was never used.</>;
  return (
    <>
      It was last used <RelativeTime at={lastUsedAt} />.
    </>
  );
}

const LABELS_SHOWN = 5;

function labelsOf(keys: readonly ApiKeyView[]): string {
  const labels = keys.slice(0, LABELS_SHOWN).map(labelOf).join(", ");
  return keys.length > LABELS_SHOWN ? `${labels} and ${keys.length - LABELS_SHOWN} more` : labels;
}

/** The label if it can be typed exactly as shown, else the key's last four characters. */
function nameToType(key: ApiKeyView): string {
  const label = key.label ?? "";
  const isSeen = label === visible(label) && !/\s\s|[\t\n]/.test(label);
  const isTypeable = label === label.trim() && isSeen && label.length <= TYPED_LENGTH && label !== "";
  return isTypeable ? label : (key.key_last4 ?? key.id);
}

function registers({ scopes }: ApiKeyView): boolean {
  return scopes === null || scopes === undefined || scopes.includes("robots:setup");
}
