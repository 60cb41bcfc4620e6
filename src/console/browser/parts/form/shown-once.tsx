import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { useUnsaved } from "../../unsaved.ts";
import { CopyButton } from "../copy-button.tsx";
import { Notice } from "../notice.tsx";
import { Dialog } from "./dialog.tsx";

interface ShownOnceProps {
  readonly title: string;
  /** What cannot be shown again. */
  readonly text: string;
  readonly what: "key" | "secret";
  close(): void;
  readonly children: ComponentChildren;
}

/**
 * Shows a new key or secret, which cannot be shown again: only the button that confirms that it is stored closes the dialog. No component
 * but the form's dialog holds it.
 */
export function ShownOnce({ title, text, what, close, children }: ShownOnceProps) {
  const [isRefused, setRefused] = useState(false);
  const refuse = () => setRefused(true);
  useUnsaved(true);
  return (
    <Dialog title={title} close={refuse} stays>
      {children}
      <p class="key-once">
        <code>{text}</code>
        <CopyButton text={text} what={what} />
      </p>
      <div role="status">
        {isRefused ? <Notice tone="degraded" title={`Store the ${what} first: it cannot be shown again.`} /> : null}
      </div>
      <div class="buttons">
        <button type="button" class="button button-main" onClick={close}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
