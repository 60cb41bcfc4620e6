import type { ComponentChildren } from "preact";

interface ComingProps {
  /** Undefined as long as it is asked for, null where there is none. */
  readonly value: string | null | undefined;
  children(value: string): ComponentChildren;
}

/** A value in a list that comes later than the list: its room first, then the value, or a dash where there is none. */
export function Coming({ value, children }: ComingProps) {
  if (value === undefined) {
    return (
      <span class="skeleton skeleton-word">
        <span class="visually-hidden">loading</span>
      </span>
    );
  }
  return value === null ? <span class="muted">–</span> : <>{children(value)}</>;
}
