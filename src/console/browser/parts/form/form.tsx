import type { ComponentChildren } from "preact";
import { useCallback, useState } from "preact/hooks";

import { session } from "../../data/session.ts";
import { useLeaveGuard } from "../../router.ts";
import { useStore } from "../../store.ts";
import { Dialog } from "./dialog.tsx";
import { useFocusKept } from "./ending-button.tsx";

interface FormProps {
  /** Leaves the validation to the service. */
  readonly noValidate?: boolean;
  /** Whether what is entered is worth a question before it is lost. */
  readonly isGuarded?: boolean;
  submit(): void;
  /** Called before the person leaves the page: closes the dialog around the form. */
  leaving?(): void;
  readonly children: ComponentChildren;
}

/** A form that asks before a link or the Back button loses what was entered. */
export function Form({ noValidate = false, isGuarded = true, submit, leaving, children }: FormProps) {
  const [isEdited, setEdited] = useState(false);
  const [leave, setLeave] = useState<(() => void) | null>(null);
  const guard = useCallback((wanted: () => void) => setLeave(() => wanted), []);
  const form = useFocusKept<HTMLFormElement>();
  // A dialog would cover the one that signs in again.
  const isSignedIn = useStore(session).state === "signed-in";
  useLeaveGuard(isGuarded && isEdited ? guard : null);
  const onSubmit = (event: Event) => {
    event.preventDefault();
    submit();
  };
  const stay = () => setLeave(null);
  const discard = () => {
    setEdited(false);
    stay();
    leaving?.();
    leave?.();
  };
  return (
    <>
      <form ref={form} class="form" noValidate={noValidate} onSubmit={onSubmit} onInput={() => setEdited(true)}>
        {children}
      </form>
      {leave === null || !isSignedIn ? null : (
        <Dialog title="Leave without saving?" close={stay}>
          <p>What you entered will be lost.</p>
          <div class="buttons">
            <button type="button" class="button" onClick={stay}>
              Stay
            </button>
            <button type="button" class="button button-danger" onClick={discard}>
              Leave
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
