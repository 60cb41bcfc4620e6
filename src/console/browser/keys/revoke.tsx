import type { ApiKeyView } from "../../../api/keys.ts";
import { keysInWords } from "../../../api/words/key-lineage.ts";
import { visible } from "../../../platform/text/visible.ts";
import { ChangeDialog } from "../parts/form/form-dialog.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { isOwn, keyText, labelOf } from "./data.ts";

interface RevokeKeyProps {
  readonly apiKey: ApiKeyView;
  /** The keys that end with it. */
  readonly ending: readonly ApiKeyView[];
  close(): void;
}

/** A longer label is not asked for. */
const TYPED_LENGTH = 40;

/** Revokes a key; shows what stops working, and asks to type the label, because labels are easily confused. */
export function RevokeKey({ apiKey: key, ending, close }: RevokeKeyProps) {
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
