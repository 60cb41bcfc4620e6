export function None() {
  return <span class="muted">–</span>;
}
