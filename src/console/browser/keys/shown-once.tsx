import { useState } from "preact/hooks";
import type * as z from "zod";

import type { apiKeyCreatedSchema } from "../../../api/keys.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/form/dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { absoluteTime } from "../parts/relative-time.tsx";
import { useLeaveGuard } from "../router.ts";

export type CreatedKey = z.output<typeof apiKeyCreatedSchema>;

interface KeyShownOnceProps {
  readonly created: CreatedKey;
  close(): void;
}

/**
 * Shows a new key, which cannot be shown again: only the button that confirms that it is stored closes the dialog. No other component
 * holds the key.
 */
export function KeyShownOnce({ created, close }: KeyShownOnceProps) {
  const [isRefused, setRefused] = useState(false);
  const { api_key: apiKey, label, expires_at: expiresAt } = created;
  const refuse = () => setRefused(true);
  useLeaveGuard(refuse);
  return (
    <Dialog title={`The key ${label ?? ""}`} close={refuse} stays>
      <p>
        Copy it to where it will be used. It is shown only once: the service stores just its hash and last four
        characters.
      </p>
      <p class="key-once">
        <code>{apiKey}</code>
        <CopyButton text={apiKey} what="key" />
      </p>
      {expiresAt === null || expiresAt === undefined ? null : <p>It works until {absoluteTime(expiresAt)}.</p>}
      <div role="status">
        {isRefused ? <Notice tone="degraded" title="Store the key first: it cannot be shown again." /> : null}
      </div>
      <div class="buttons">
        <button type="button" class="button button-main" onClick={close}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
