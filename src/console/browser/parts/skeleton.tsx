/** A placeholder for lines that are loading. */
export function Skeleton({ lines, what }: { readonly lines: number; readonly what: string }) {
  return (
    <div role="status">
      <span class="visually-hidden">Loading {what}…</span>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} class="skeleton-line">
          <span class="skeleton" style={{ width: `${WIDTHS[index % WIDTHS.length] ?? 50}%` }} />
        </div>
      ))}
    </div>
  );
}

const WIDTHS = [62, 48, 71, 55, 40] as const;
