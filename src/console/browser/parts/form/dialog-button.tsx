import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import type { ApiKeyScope } from "../../../../api/wire/scopes.ts";
import { mayDo } from "../../data/session.ts";
import { Icon } from "../icon.tsx";
import { EndingButton } from "./ending-button.tsx";

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
  if (!mayDo(scope)) return null;
  return (
    <>
      <EndingButton className={kind === undefined ? "button" : `button button-${kind}`} press={() => setOpen(true)}>
        {kind === "main" ? <Icon name="plus" /> : null}
        {word}
      </EndingButton>
      {isOpen ? children(() => setOpen(false)) : null}
    </>
  );
}
