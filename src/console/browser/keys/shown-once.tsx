import { useState } from "preact/hooks";
import type * as z from "zod";

import type { apiKeyCreatedSchema } from "../../../api/keys.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/form/dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { absoluteTime } from "../parts/relative-time.tsx";
import { useHeldPlace } from "../router.ts";

export type CreatedKey = z.output<typeof apiKeyCreatedSchema>;

interface KeyShownOnceProps {
  readonly created: CreatedKey;
  close(): void;
}

/**
 * The key itself, which nobody can show again: only the button that says it is stored closes this. It is held by this component
 * alone and goes with it.
 */
export function KeyShownOnce({ created, close }: KeyShownOnceProps) {
  const [isRefused, setRefused] = useState(false);
  const { api_key: apiKey, label, expires_at: expiresAt } = created;
  const refuse = () => setRefused(true);
  useHeldPlace(refuse);
  return (
    <Dialog title={`The key ${label ?? ""}`} close={refuse} stays>
      <p>
        Copy it to where it will be used. It is shown this once; the service keeps no more of it than its last four
        characters.
      </p>
      <p class="key-once">
        <code>{apiKey}</code>
        <CopyButton text={apiKey} what="key" />
      </p>
      {expiresAt === null || expiresAt === undefined ? null : <p>It works until {absoluteTime(expiresAt)}.</p>}
      <div role="status">
        {isRefused ? <Notice tone="degraded" title="Not closed: store the key first, or it is lost." /> : null}
      </div>
      <div class="buttons">
        <button type="button" class="button button-main" onClick={close}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
