import { useEffect, useState } from "preact/hooks";

import { Dialog } from "../parts/form/dialog.tsx";
import { Facts } from "../parts/page.tsx";

const KEYS = [
  ["/", "Search the list"],
  ["?", "Show these keys"],
  ["Escape", "Close a dialog"],
] as const;

/** The keys of every page, and the dialog that lists them. They do nothing while a person types, or while a dialog is open. */
export function Keyboard() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      const isTyping = target instanceof Element && target.closest("input, textarea, select") !== null;
      if (ctrlKey || metaKey || altKey || isTyping || document.querySelector("dialog[open]") !== null) return;
      const search = document.querySelector<HTMLInputElement>('main input[type="search"]');
      if (key === "?") setOpen(true);
      else if (key === "/" && search !== null) search.focus();
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  if (!isOpen) return null;
  const close = () => setOpen(false);
  return (
    <Dialog title="Keyboard" close={close}>
      <Facts facts={KEYS} />
      <div class="buttons">
        <button type="button" class="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
