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
 * A modal dialog, open while it is rendered. It uses the browser's dialog element, which keeps the focus inside, closes on Escape, and
 * returns the focus when it closes.
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
    const opened = dialog.current;
    opened?.showModal();
    return () => {
      isOver.current = true;
      opened?.close();
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
