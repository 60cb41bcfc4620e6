import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  /** Escape, or a button of its own. */
  close(): void;
  /** It stays, whatever the person does: `close` is told, and takes it away only by rendering it no more. */
  readonly stays?: boolean;
  /** It stays as long as what it asked for is under way. */
  readonly isBusy?: boolean;
  readonly children: ComponentChildren;
}

/**
 * A question over the page, as long as it is rendered. The browser's own: it keeps the focus inside, closes by Escape, and the
 * focus goes back to where it came from.
 */
export function Dialog({ title, close, stays = false, isBusy = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const isOver = useRef(false);
  const end = () => {
    if (!isOver.current && !isBusy) close();
  };
  // Escape, before the browser acts on it: it says "close" only a moment after it closed, and by then the next dialog may be asked for.
  const onCancel = (event: Event) => {
    event.preventDefault();
    end();
  };
  // Where a page holds on to a dialog, browsers say nothing of the next Escape and close it all the same.
  const onClose = () => {
    if ((stays || isBusy) && !isOver.current) dialog.current?.showModal();
    end();
  };
  useLayoutEffect(() => {
    const before = document.activeElement;
    const opened = dialog.current;
    opened?.showModal();
    return () => {
      isOver.current = true;
      // As long as it is open, nothing behind it takes the focus.
      opened?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={heading} onCancel={onCancel} onClose={onClose}>
      <div class="dialog-body">
        <h2 id={heading}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  /** What the button says it does: "Revoke key". */
  readonly verb: string;
  readonly isBusy: boolean;
  confirm(): void;
  close(): void;
  /** What will happen. */
  readonly children: ComponentChildren;
}

/** Asks before something that cannot be taken back. The way out comes first, and has the focus. */
export function Confirm({ title, verb, isBusy, confirm, close, children }: ConfirmProps) {
  return (
    <Dialog title={title} close={close} isBusy={isBusy}>
      {children}
      <div class="buttons">
        <button type="button" class="button" disabled={isBusy} onClick={close}>
          Cancel
        </button>
        <button type="button" class="button button-danger" aria-disabled={isBusy} onClick={confirm}>
          {verb}
        </button>
      </div>
    </Dialog>
  );
}
