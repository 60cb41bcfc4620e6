export function None() {
  return <span class="muted">–</span>;
}

/** The placeholder of a value that loads later than its row. */
export function Pending() {
  return (
    <span class="skeleton skeleton-word">
      <span class="visually-hidden">loading</span>
    </span>
  );
}
