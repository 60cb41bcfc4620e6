import type { ComponentChildren } from "preact";

interface SmallTableProps {
  /** For screen readers. */
  readonly label: string;
  readonly heads: readonly string[];
  /** Rows. */
  readonly children: ComponentChildren;
}

/** A simple table inside a page. If it is wider than the page, it scrolls horizontally, by the keyboard too. */
export function SmallTable({ label, heads, children }: SmallTableProps) {
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label={label}>
      <table class="plain-table">
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
