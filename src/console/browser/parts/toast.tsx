import { useEffect } from "preact/hooks";

import { createStore, useStore } from "../store.ts";
import { EndingButton } from "./form/ending-button.tsx";
import { Icon } from "./icon.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "done" | "problem";
}

const TOASTS_MAXIMUM = 3;
/** A problem stays until it is dismissed. */
const SHOWN_MS = 6000;

const toasts = createStore<readonly Toast[]>([]);
let lastId = 0;

/** Shows a short message. Anything that needs action belongs on the page itself. */
export function showToast(text: string, tone: Toast["tone"] = "done"): void {
  lastId += 1;
  toasts.set([...toasts.get(), { id: lastId, text, tone }].slice(-TOASTS_MAXIMUM));
}

function dismiss(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

/** The live region for toasts. It is always rendered: screen readers miss the first message of a new region. */
export function Toasts() {
  const shown = useStore(toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <ToastLine key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

function ToastLine({ toast: { id, text, tone } }: { readonly toast: Toast }) {
  useEffect(() => {
    if (tone === "problem") return undefined;
    const timer = setTimeout(() => dismiss(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id, tone]);
  return (
    <div class="toast" data-tone={tone}>
      <p>{text}</p>
      <EndingButton className="chip-copy" label="Dismiss" press={() => dismiss(id)}>
        <Icon name="close" />
      </EndingButton>
    </div>
  );
}
