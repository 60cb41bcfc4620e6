import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface EndingButtonProps {
  readonly className?: string;
  /** For screen readers, where the text alone does not say what it is about. */
  readonly label?: string;
  press(): void;
  readonly children: ComponentChildren;
}

/** A button that may be gone once its action is done: the keyboard then continues from the heading of the page. */
export function EndingButton({ className = "button", label, press, children }: EndingButtonProps) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const own = button.current;
    return () => {
      if (own !== null && own === document.activeElement) document.querySelector("h1")?.focus();
    };
  }, []);
  return (
    <button ref={button} type="button" class={className} aria-label={label} onClick={press}>
      {children}
    </button>
  );
}
