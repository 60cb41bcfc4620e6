import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { ApiKeyScope } from "../../../../api/wire/scopes.ts";
import { mayDo } from "../../data/session.ts";
import { Icon } from "../icon.tsx";

interface DialogButtonProps {
  /** The scope that the action needs; without it there is no button. */
  readonly scope: ApiKeyScope;
  readonly word: string;
  /** `main` creates something, `danger` cannot be undone. */
  readonly kind?: "main" | "danger";
  children(close: () => void): ComponentChildren;
}

/** A button that opens a dialog. */
export function DialogButton({ scope, word, kind, children }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  // Once something is retired, the button that did it is gone: the keyboard continues from the heading.
  useLayoutEffect(() => {
    const own = button.current;
    return () => {
      if (own !== null && own === document.activeElement) document.querySelector("h1")?.focus();
    };
  }, []);
  if (!mayDo(scope)) return null;
  return (
    <>
      <button
        ref={button}
        type="button"
        class={kind === undefined ? "button" : `button button-${kind}`}
        onClick={() => setOpen(true)}
      >
        {kind === "main" ? <Icon name="plus" /> : null}
        {word}
      </button>
      {isOpen ? children(() => setOpen(false)) : null}
    </>
  );
}
