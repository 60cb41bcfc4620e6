import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface EndingButtonProps {
  readonly className?: string;
  /** For screen readers, where the text alone does not say what it is about. */
  readonly label?: string | undefined;
  readonly isBusy?: boolean;
  press(): void;
  readonly children: ComponentChildren;
}

/** A button that may be gone once its action is done. */
export function EndingButton({ className = "button", label, isBusy, press, children }: EndingButtonProps) {
  const button = useFocusKept<HTMLButtonElement>();
  return (
    <button ref={button} type="button" class={className} aria-label={label} aria-disabled={isBusy} onClick={press}>
      {children}
    </button>
  );
}

/** For an element that may go with the focus in it: the keyboard then continues from the heading of the page. */
export function useFocusKept<E extends HTMLElement>() {
  const element = useRef<E>(null);
  useLayoutEffect(() => {
    const own = element.current;
    return () => {
      if (own?.contains(document.activeElement) === true) document.querySelector("h1")?.focus({ preventScroll: true });
    };
  }, []);
  return element;
}
