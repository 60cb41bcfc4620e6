import { useState } from "preact/hooks";

import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { absoluteTime } from "../parts/relative-time.tsx";
import { useHeldPlace } from "../router.ts";
import type { CreatedKey } from "./key-new.tsx";

interface KeyShownOnceProps {
  readonly created: CreatedKey;
  close(): void;
}

/**
 * The key itself, which nobody can show again: only the button that says it is stored closes this. It is held by this component
 * alone and goes with it.
 */
export function KeyShownOnce({ created, close }: KeyShownOnceProps) {
  const [is_refused, setRefused] = useState(false);
  const { api_key, label, expires_at } = created;
  const refuse = () => setRefused(true);
  useHeldPlace(refuse);
  return (
    <Dialog title={`The key ${label ?? ""}`} close={refuse} stays>
      <p>
        Copy it to where it will be used. It is shown this once; the service keeps no more of it than its last four
        characters.
      </p>
      <p class="key-once">
        <code>{api_key}</code>
        <CopyButton text={api_key} what="key" />
      </p>
      {expires_at === null || expires_at === undefined ? null : <p>It works until {absoluteTime(expires_at)}.</p>}
      <div role="status">
        {is_refused ? <Notice tone="degraded" title="Not closed: store the key first, or it is lost." /> : null}
      </div>
      <div class="buttons">
        <button type="button" class="button button-main" onClick={close}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
