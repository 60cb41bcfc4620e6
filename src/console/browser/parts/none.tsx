import type { ComponentChildren } from "preact";

export function None() {
  return <span class="muted">–</span>;
}

interface PendingValueProps {
  /** Undefined while it loads, null if there is none. */
  readonly value: string | null | undefined;
  children(value: string): ComponentChildren;
}

/** A value that loads later than its row: a placeholder, then the value, or a dash if there is none. */
export function PendingValue({ value, children }: PendingValueProps) {
  if (value === undefined) {
    return (
      <span class="skeleton skeleton-word">
        <span class="visually-hidden">loading</span>
      </span>
    );
  }
  return value === null ? <None /> : <>{children(value)}</>;
}
