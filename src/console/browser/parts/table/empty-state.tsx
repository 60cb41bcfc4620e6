import type { ComponentChildren } from "preact";

interface EmptyStateProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

/** Stands in for an empty list: says what would be here and how to get it. */
export function EmptyState({ title, children }: EmptyStateProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
