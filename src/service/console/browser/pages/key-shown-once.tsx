import { useEffect, useState } from "preact/hooks";

import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { absoluteTime } from "../parts/relative-time.tsx";
import { holdPlace } from "../router.ts";
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
  const [escapes, setEscapes] = useState(0);
  const { api_key, label, expires_at } = created;
  useEffect(() => {
    // The browser asks before the page is left or loaded again.
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, []);
  const refuse = () => setEscapes((count) => count + 1);
  useEffect(() => holdPlace(refuse), []);
  return (
    // Browsers let Escape close a dialog whatever the page says; so it opens again, and says why.
    <Dialog key={escapes} title={`The key ${label ?? ""}`} close={refuse}>
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
        {escapes === 0 ? null : <Notice tone="degraded" title="Not closed: store the key first, or it is lost." />}
      </div>
      <div class="buttons">
        <button type="button" class="button button-main" onClick={close}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
