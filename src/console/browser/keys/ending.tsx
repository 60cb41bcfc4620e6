import type { ApiKeyView } from "../../../api/keys.ts";
import { Checkbox } from "../parts/form/fields.tsx";
import { labelOf } from "./data.ts";

interface EndingProps {
  readonly ownKey: ApiKeyView | undefined;
  readonly independent: boolean;
  change(independent: boolean): void;
}

/** A key ends with the key that created it. Only an unrestricted key without expiry may create an independent one. */
export function Ending({ ownKey, independent, change }: EndingProps) {
  if (ownKey === undefined) return null;
  const mayChoose = ownKey.scopes === null && ownKey.expires_at === null;
  if (!mayChoose) return <p class="field-hint">It ends when your own key, {labelOf(ownKey)}, ends.</p>;
  return (
    <Checkbox
      label="Independent"
      hint={`It keeps working when your own key, ${labelOf(ownKey)}, is revoked.`}
      checked={independent}
      change={change}
    />
  );
}
