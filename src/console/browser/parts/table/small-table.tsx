import type { ComponentChildren } from "preact";

interface SmallTableProps {
  /** For screen readers. */
  readonly label: string;
  readonly heads: readonly string[];
  readonly className?: string;
  readonly children: ComponentChildren;
}

/** A simple table inside a page. If it is wider than the page, it scrolls horizontally, by the keyboard too. */
export function SmallTable({ label, heads, className = "", children }: SmallTableProps) {
  return (
    <div class={`scroll-x ${className}`} tabIndex={0} role="group" aria-label={label}>
      <table class="plain-table">
        <caption class="visually-hidden">{label}</caption>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
