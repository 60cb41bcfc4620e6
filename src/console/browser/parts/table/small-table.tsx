import type { ComponentChildren } from "preact";

interface SmallTableProps {
  /** For screen readers. */
  readonly label: string;
  readonly heads: readonly string[];
  /** The columns from this index on are numbers. */
  readonly numbersFrom?: number;
  readonly className?: string;
  readonly children: ComponentChildren;
}

/** A simple table inside a page. If it is wider than the page, it scrolls horizontally, by the keyboard too. */
export function SmallTable({ label, heads, numbersFrom = heads.length, className = "", children }: SmallTableProps) {
  return (
    <div class={`scroll-x ${className}`} tabIndex={0} role="group" aria-label={label}>
      <table class="plain-table">
        <caption class="visually-hidden">{label}</caption>
        <thead>
          <tr>
            {heads.map((head, index) => (
              <th key={head} scope="col" data-align={index < numbersFrom ? undefined : "end"}>
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
