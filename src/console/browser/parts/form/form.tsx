import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { useUnsaved } from "../../router.ts";
import { useFocusKept } from "./ending-button.tsx";

interface FormProps {
  /** Leaves the validation to the service. */
  readonly noValidate?: boolean;
  /** Whether what is entered is worth a question before it is lost. */
  readonly isGuarded?: boolean;
  submit(): void;
  readonly children: ComponentChildren;
}

/** A form for whose content the browser asks before a link loses it. */
export function Form({ noValidate = false, isGuarded = true, submit, children }: FormProps) {
  const [isEdited, setEdited] = useState(false);
  const form = useFocusKept<HTMLFormElement>();
  useUnsaved(isGuarded && isEdited);
  const onSubmit = (event: Event) => {
    event.preventDefault();
    submit();
  };
  return (
    <form ref={form} class="form" noValidate={noValidate} onSubmit={onSubmit} onInput={() => setEdited(true)}>
      {children}
    </form>
  );
}
