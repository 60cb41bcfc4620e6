import { useState } from "preact/hooks";

import type { ApiKeyView } from "../../../api/keys.ts";
import { keysInWords } from "../../../api/words/key-lineage.ts";
import { visible } from "../../../platform/text/visible.ts";
import { invalidate } from "../data/cache.ts";
import { sessionEnded } from "../data/session.ts";
import { useWrite } from "../data/use-write.ts";
import { Dialog } from "../parts/form/dialog.tsx";
import { TextField } from "../parts/form/fields.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { showToast } from "../parts/toast.tsx";
import { isOwn, keyText, labelOf } from "./data.ts";

interface RevokeKeyProps {
  readonly apiKey: ApiKeyView;
  /** The keys that end with it. */
  readonly ending: readonly ApiKeyView[];
  close(): void;
}

/** Longer than anybody types. */
const TYPED_LENGTH = 40;

/** Ends a key for good; says what stops with it, and asks for its name, because two labels are soon mistaken for each other. */
export function RevokeKey({ apiKey: key, ending, close }: RevokeKeyProps) {
  const [typed, setTyped] = useState("");
  const { send, isBusy, problem } = useWrite<ApiKeyView>();
  const name = nameToType(key);
  const endsOwn = [key, ...ending].some(isOwn);
  const isConfirmed = typed.trim() === name;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isConfirmed) return;
    const revoked = await send("DELETE", `/v1/me/api-keys/${encodeURIComponent(key.id)}`);
    if (revoked === null) return;
    showToast(`${labelOf(key)} is revoked.`);
    close();
    if (endsOwn) sessionEnded();
    else invalidate(["keys"]);
  };
  return (
    <Dialog title={`Revoke ${labelOf(key)}?`} close={close} isBusy={isBusy}>
      <form class="form" onSubmit={submit}>
        <ul class="stops">
          <li>
            Every request with <span class="mono">{keyText(key)}</span> is refused from now on. <LastUse apiKey={key} />
          </li>
          {ending.length > 0 ? (
            <li>
              <b>With it end {keysInWords(ending.length)}:</b> {labelsOf(ending)}.
            </li>
          ) : null}
          {[key, ...ending].some(registers) ? (
            <li>Robots that register with it go on as they are, but no longer register when they change.</li>
          ) : null}
          <li>Whoever signed in with it, here or at a command line, is signed out.</li>
          {endsOwn ? (
            <li>
              <b>That is you: you are signed in by {isOwn(key) ? "this key" : "one of these keys"}.</b>
            </li>
          ) : null}
          <li>It cannot be taken back.</li>
        </ul>
        <TextField
          label={`Type ${name} to confirm`}
          value={typed}
          change={setTyped}
          error={problem === null ? undefined : problem.detail}
          input={{ autofocus: true, required: true }}
        />
        <div class="buttons">
          <button type="button" class="button" disabled={isBusy} onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button button-danger" disabled={!isConfirmed} aria-disabled={isBusy}>
            Revoke key
          </button>
        </div>
      </form>
    </Dialog>
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

/** Of the keys that end with one. */
const LABELS_SHOWN = 5;

function labelsOf(keys: readonly ApiKeyView[]): string {
  const labels = keys.slice(0, LABELS_SHOWN).map(labelOf).join(", ");
  return keys.length > LABELS_SHOWN ? `${labels} and ${keys.length - LABELS_SHOWN} more` : labels;
}

/** The label, where it can be typed as it is seen; else the key's last four characters. */
function nameToType(key: ApiKeyView): string {
  const label = key.label ?? "";
  const isSeen = label === visible(label) && !/\s\s|[\t\n]/.test(label);
  const isTypeable = label === label.trim() && isSeen && label.length <= TYPED_LENGTH && label !== "";
  return isTypeable ? label : (key.key_last4 ?? key.id);
}

function registers({ scopes }: ApiKeyView): boolean {
  return scopes === null || scopes === undefined || scopes.includes("robots:setup");
}
