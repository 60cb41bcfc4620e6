import { useMemo } from "preact/hooks";
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
  usesText,
} from "../../../views/keys.ts";
import { useData } from "../data/query.ts";
import { serviceNow } from "../data/request.ts";
import { mayDo, sessionView } from "../data/session.ts";
import { type Change, ChangeButton, typedField } from "../parts/form/change.tsx";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { absoluteTime, RelativeTime, useNow } from "../parts/relative-time.tsx";
import { Shown } from "../parts/shown.tsx";
import { newestFirst, type RowChanges } from "../parts/table/columns.tsx";
import { type Archive, ListPage } from "../parts/table/list-page.tsx";
import { newKey } from "./new.tsx";

/** Two columns say more than a terminal can. */
const CELLS = {
  label: (key: KeyItem) => <Label of={key} />,
  uses: (key: KeyItem) => <Uses of={key} />,
};

/** Expired keys stay among the current ones until they are revoked: robots that still use them cannot register. */
const REVOKED: Archive<KeyItem> = {
  word: "revoked",
  contains: ({ state }) => state === "revoked",
};

/** `/keys`: API keys with their scopes, active ones first; `?show=revoked`: the revoked ones. */
export function Keys() {
  const keys = useData<z.output<typeof apiKeyListSchema>>("/v1/me/api-keys", ["keys"]);
  const nowMs = useNow();
  const items = keys.value?.items ?? NO_KEYS;
  const rows = useMemo(() => keyItems(newestFirst(items), nowMs), [items, nowMs]);
  const changes = useMemo(() => changesAmong(items), [items]);
  return (
    <ListPage
      view={KEYS}
      cells={CELLS}
      changes={changes}
      data={keys}
      rows={rows}
      archive={REVOKED}
      keyOf={({ id }) => id}
      sort="state"
      actions={<ChangeButton change={newKey(items.find(isOwn))} />}
      empty={<p>Robots and programs authenticate with keys. Create one for each, so that each can be revoked alone.</p>}
    />
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
function Uses({ of }: { readonly of: KeyItem }) {
  const text = usesText(of);
  if (text === null || !mayDo("audit:read")) return <Shown value={text} isInList />;
  const query = new URLSearchParams({ action: "robot.enroll", by: of.label ?? of.id });
  return <a href={`/audit?${query.toString()}`}>{text}</a>;
}

/** @param keys all of them. */
function changesAmong(keys: readonly ApiKeyView[]): RowChanges<KeyItem> {
  return {
    scope: "api-keys:write",
    track: "12rem",
    of: (key) => {
      if (key.state === "revoked") return [];
      const revoke = revocation(key, keysEndingWith(key, keys, serviceNow()));
      // A key for enrolments is made anew.
      const isRotatable = key.state === "active" && (key.enrollment ?? null) === null;
      return isRotatable ? [rotation(key), revoke] : [revoke];
    },
    aboutOf: (key) => `${labelOf(key)}, ${keyText(key)}`,
  };
}

/** A longer label is not asked for. */
const TYPED_LENGTH = 40;

/** Revokes a key; shows what stops working, and asks to type the label, because labels are easily confused. */
function revocation(key: ApiKeyView, ending: readonly ApiKeyView[]): Change {
  const { last_used_at: lastUsedAt } = key;
  return {
    scope: "api-keys:write",
    word: "Revoke",
    kind: "danger",
    title: `Revoke ${labelOf(key)}?`,
    verb: "Revoke key",
    body: (
      <>
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
      </>
    ),
    useForm: () => ({ fields: [typedField(nameToType(key))] }),
    requestOf: () => ({ method: "DELETE", path: apiPath(key) }),
    topics: ["keys"],
    made: () => ({ said: `${labelOf(key)} is revoked.` }),
  };
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

/** Replaces a key by a new one, and shows that once. */
function rotation(key: ApiKeyView): Change<z.output<typeof apiKeyRotatedSchema>> {
  return {
    scope: "api-keys:write",
    word: "Rotate",
    title: `Rotate ${labelOf(key)}?`,
    verb: "Rotate key",
    body: <p>{ROTATED}</p>,
    initial: { overlap_s: "86400" },
    useForm: () => ({ fields: [OVERLAP] }),
    requestOf: (data) => {
      const body = { overlap_s: Number(entered(data, "overlap_s")) };
      return { method: "POST", path: `${apiPath(key)}/rotate`, body };
    },
    topics: ["keys"],
    made: (rotated) => ({
      secret: rotated.api_key,
      title: `The key ${labelOf(rotated)}`,
      what: "key",
      note:
        "Copy it to where it will be used. It is shown only once. The former key works until " +
        `${absoluteTime(rotated.former_expires_at)}.`,
    }),
  };
}

/** Of the API. */
function apiPath({ id }: ApiKeyView): string {
  return `/v1/me/api-keys/${encodeURIComponent(id)}`;
}
