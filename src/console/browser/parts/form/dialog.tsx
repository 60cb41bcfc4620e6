import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  /** Called for Escape. */
  close(): void;
  /** Escape calls `close` but leaves the dialog open until it is no longer rendered. */
  readonly stays?: boolean;
  /** Escape does nothing while a request runs. */
  readonly isBusy?: boolean;
  readonly children: ComponentChildren;
}

/**
 * A modal dialog, open while it is rendered. It uses the browser's dialog element, which keeps the focus inside and closes on Escape;
 * afterwards the focus returns to where it was.
 */
export function Dialog({ title, close, stays = false, isBusy = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const isOver = useRef(false);
  const end = () => {
    if (!isOver.current && !isBusy) close();
  };
  // Escape is handled at "cancel": browsers fire "close" only later, when the next dialog may be open already.
  const onCancel = (event: Event) => {
    event.preventDefault();
    end();
  };
  // After one prevented "cancel", browsers close the dialog on the next Escape without another "cancel".
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
      // Close it first: elements behind an open modal dialog cannot take the focus.
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
  /** Text of the button: "Revoke key". */
  readonly verb: string;
  readonly isBusy: boolean;
  confirm(): void;
  close(): void;
  /** The consequences. */
  readonly children: ComponentChildren;
}

/** Confirms an action that cannot be undone. Cancel comes first and has the focus. */
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
