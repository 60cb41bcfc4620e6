import { useMemo, useState } from "preact/hooks";
import type * as z from "zod";

import type { apiKeyListSchema, apiKeyRotatedSchema, ApiKeyView } from "../../../api/keys.ts";
import { visible } from "../../../platform/text/visible.ts";
import {
  type KeyItem,
  keyItems,
  KEYS,
  keysEndingWith,
  keyText,
  labelOf,
  revocationEnds,
  ROTATED,
  scopesText,
} from "../../../views/keys.ts";
import { useData } from "../data/query.ts";
import { mayDo, sessionView } from "../data/session.ts";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { ChangeDialog, FormDialog } from "../parts/form/form-dialog.tsx";
import { ShownOnce } from "../parts/form/shown-once.tsx";
import { absoluteTime, RelativeTime, useNow } from "../parts/relative-time.tsx";
import { columnsOf, filtersOf } from "../parts/shown.tsx";
import { actionColumn, type Column, newestFirst } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { type Archive, ListPage } from "../parts/table/list-page.tsx";
import { NewKeyDialog } from "./new.tsx";

const COLUMNS: readonly Column<KeyItem>[] = columnsOf(KEYS.columns).map(withOwnCell);

/** Two columns say more than a terminal can; the scopes yield to the others. */
function withOwnCell(column: Column<KeyItem>): Column<KeyItem> {
  if (column.id === "key") return { ...column, track: "7rem" };
  if (column.id === "scopes") return { ...column, track: "minmax(4rem, 2fr)" };
  if (column.id === "label") return { ...column, cell: (key) => <Label of={key} /> };
  if (column.id === "uses") return { ...column, cell: (key) => <Uses of={key} cell={column.cell(key)} /> };
  return column;
}

const FILTERING: Filtering<KeyItem> = {
  filters: filtersOf(KEYS.filters),
  textOf: (key) => [labelOf(key), keyText(key), key.id, key.state, key.maker, scopesText(key.scopes)].join(" "),
};

/** Expired keys stay among the current ones until they are revoked: robots that still use them cannot register. */
const REVOKED: Archive<KeyItem> = {
  word: "revoked",
  contains: ({ state }) => state === "revoked",
  isLoaded: true,
};

/** The dialog that is open, and the key that it is about. */
interface Opened {
  readonly dialog: "rotate" | "revoke";
  readonly apiKey: ApiKeyView;
}

/** `/keys`: API keys with their scopes, active ones first; `?show=revoked`: the revoked ones. */
export function Keys() {
  const keys = useData<z.output<typeof apiKeyListSchema>>("/v1/me/api-keys", ["keys"]);
  const nowMs = useNow();
  const [opened, setOpened] = useState<Opened | null>(null);
  const items = keys.value?.items ?? NO_KEYS;
  const rows = useMemo(() => keyItems(newestFirst(items), nowMs), [items, nowMs]);
  const columns = useMemo(() => {
    const labelFor = (key: KeyItem) => (key.state === "revoked" ? null : `${labelOf(key)}, ${keyText(key)}`);
    // A key for enrolments is made anew.
    const rotatedLabelFor = (key: KeyItem) =>
      key.state === "active" && (key.enrollment ?? null) === null ? labelFor(key) : null;
    const open = (dialog: Opened["dialog"]) => (apiKey: KeyItem) => setOpened({ dialog, apiKey });
    const rotate: Column<KeyItem> = {
      ...actionColumn("Rotate", rotatedLabelFor, open("rotate")),
      id: "rotate",
      name: "Replace",
      from: "wide",
    };
    return mayDo("api-keys:write") ? [...COLUMNS, rotate, actionColumn("Revoke", labelFor, open("revoke"))] : COLUMNS;
  }, []);
  const create = (
    <DialogButton scope="api-keys:write" word="New key" kind="main">
      {(close) => <NewKeyDialog own={items.find(isOwn)} close={close} />}
    </DialogButton>
  );
  return (
    <ListPage
      title="Keys"
      actions={create}
      data={keys}
      emptyTitle={KEYS.empty}
      empty={<p>Robots and programs authenticate with keys. Create one for each, so that each can be revoked alone.</p>}
      archive={REVOKED}
      noun={KEYS.noun}
      columns={columns}
      rows={rows}
      keyOf={({ id }) => id}
      sort="state"
      filtering={FILTERING}
      hint="Label, last four, scope"
    >
      {opened === null ? null : <Dialog {...opened} keys={items} close={() => setOpened(null)} />}
    </ListPage>
  );
}

const NO_KEYS: readonly never[] = [];

/** Whether the person is signed in by this key. */
function isOwn({ id }: ApiKeyView): boolean {
  return sessionView()?.credential?.api_key_id === id;
}

function Label({ of }: { readonly of: KeyItem }) {
  return (
    <span class="name-and-mark">
      <span class="cut" title={labelOf(of)}>
        {labelOf(of)}
      </span>
      {isOwn(of) ? (
        <span class="label" title="You signed in with this key">
          yours
        </span>
      ) : null}
    </span>
  );
}

/** How often a key can still be used, with a link to which robots did, when, and from where. */
function Uses({ of, cell }: { readonly of: KeyItem; readonly cell: ReturnType<Column<KeyItem>["cell"]> }) {
  if ((of.uses_remaining ?? null) === null || !mayDo("audit:read")) return <>{cell}</>;
  const query = new URLSearchParams({ action: "robot.enroll", by: of.label ?? of.id });
  return <a href={`/audit?${query.toString()}`}>{cell}</a>;
}

interface DialogProps {
  readonly apiKey: ApiKeyView;
  close(): void;
}

function Dialog({ dialog, keys, ...props }: Opened & DialogProps & { readonly keys: readonly ApiKeyView[] }) {
  const nowMs = useNow();
  if (dialog === "rotate") return <RotateKey {...props} />;
  return <RevokeKey {...props} ending={keysEndingWith(props.apiKey, keys, nowMs)} />;
}

/** A longer label is not asked for. */
const TYPED_LENGTH = 40;

/** Revokes a key; shows what stops working, and asks to type the label, because labels are easily confused. */
function RevokeKey({ apiKey: key, ending, close }: DialogProps & { readonly ending: readonly ApiKeyView[] }) {
  const { last_used_at: lastUsedAt } = key;
  return (
    <ChangeDialog
      title={`Revoke ${labelOf(key)}?`}
      verb="Revoke key"
      isDangerous
      nameToType={nameToType(key)}
      request={{ method: "DELETE", path: apiPath(key) }}
      topics={["keys"]}
      done={`${labelOf(key)} is revoked.`}
      close={close}
    >
      <p>
        This revokes <span class="mono">{keyText(key)}</span>, {lastUsedAt === null ? "never used" : "last used "}
        {lastUsedAt === null ? null : <RelativeTime at={lastUsedAt} />}.
      </p>
      <ul class="stops">
        {revocationEnds(key, ending).map((text) => (
          <li key={text}>{text}</li>
        ))}
        {[key, ...ending].some(isOwn) ? (
          <li>
            <b>This includes you: you signed in with {isOwn(key) ? "this key" : "one of these keys"}.</b>
          </li>
        ) : null}
      </ul>
    </ChangeDialog>
  );
}

/** The label if it can be typed exactly as shown, else the key's last four characters. */
function nameToType(key: ApiKeyView): string {
  const label = key.label ?? "";
  const isSeen = label === visible(label) && !/\s\s|[\t\n]/.test(label);
  const isTypeable = label === label.trim() && isSeen && label.length <= TYPED_LENGTH && label !== "";
  return isTypeable ? label : (key.key_last4 ?? key.id);
}

const OVERLAP: FieldSpec = {
  name: "overlap_s",
  label: "The former key works",
  kind: "select",
  options: [
    { value: "0", word: "no longer" },
    { value: "3600", word: "for an hour" },
    { value: "86400", word: "for a day" },
    { value: "604800", word: "for a week" },
  ],
};

type Rotated = z.output<typeof apiKeyRotatedSchema>;

/** Replaces a key by a new one, and shows that once. */
function RotateKey({ apiKey: key, close }: DialogProps) {
  const [rotated, setRotated] = useState<Rotated | null>(null);
  if (rotated !== null) {
    return (
      <ShownOnce title={`The key ${labelOf(rotated)}`} text={rotated.api_key} what="key" close={close}>
        <p>
          Copy it to where it will be used. It is shown only once. The former key works until{" "}
          {absoluteTime(rotated.former_expires_at)}.
        </p>
      </ShownOnce>
    );
  }
  return (
    <FormDialog<Rotated>
      title={`Rotate ${labelOf(key)}?`}
      verb="Rotate key"
      initial={{ overlap_s: "86400" }}
      fields={() => [OVERLAP]}
      requestOf={(data) => ({
        method: "POST",
        path: `${apiPath(key)}/rotate`,
        body: { overlap_s: Number(entered(data, "overlap_s")) },
      })}
      topics={["keys"]}
      done={setRotated}
      close={close}
    >
      <p>{ROTATED}</p>
    </FormDialog>
  );
}

/** Of the API. */
function apiPath({ id }: ApiKeyView): string {
  return `/v1/me/api-keys/${encodeURIComponent(id)}`;
}
