import { useEffect } from "preact/hooks";

import { createStore, useStore } from "../store.ts";
import { EndingButton } from "./form/ending-button.tsx";
import { Icon } from "./icon.tsx";

interface Toast {
  readonly text: string;
  readonly tone: "done" | "problem";
}

/** A problem stays until it is dismissed. */
const SHOWN_MS = 6000;

const toast = createStore<Toast | null>(null);
const dismiss = () => toast.set(null);

/** Shows a short message in place of the one before. Anything that needs action belongs on the page itself. */
export function showToast(text: string, tone: Toast["tone"] = "done"): void {
  toast.set({ text, tone });
}

/** The live region for the message. It is always rendered: screen readers miss the first message of a new region. */
export function Toasts() {
  const shown = useStore(toast);
  useEffect(() => {
    if (shown?.tone !== "done") return undefined;
    const timer = setTimeout(dismiss, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return (
    <div class="toasts" role="status">
      {shown === null ? null : (
        <div class="toast" data-tone={shown.tone === "done" ? "ready" : "blocked"}>
          <p>{shown.text}</p>
          <EndingButton className="chip-copy" label="Dismiss" press={dismiss}>
            <Icon name="close" />
          </EndingButton>
        </div>
      )}
    </div>
  );
}
