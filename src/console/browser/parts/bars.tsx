import { number } from "./text.ts";

export interface Bar {
  readonly word: string;
  readonly count: number;
  readonly href: string | null;
}

/** Most bars shown; the rest is summed up. */
const BARS_SHOWN = 8;

/** Counts by name, largest first. The bars are decoration for the numbers. */
export function Bars({ bars }: { readonly bars: readonly Bar[] }) {
  const sorted = [...bars].sort((left, right) => right.count - left.count);
  const most = sorted[0]?.count ?? 1;
  const rest = sorted.slice(BARS_SHOWN).reduce((sum, { count }) => sum + count, 0);
  return (
    <ul class="bars">
      {sorted.slice(0, BARS_SHOWN).map(({ word, count, href }) => (
        <li key={word}>
          {href === null ? (
            <span class="muted cut">{word}</span>
          ) : (
            <a class="cut" href={href} title={word}>
              {word}
            </a>
          )}
          <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect width={(count / most) * 100} height="8" />
          </svg>
          <b>{number(count)}</b>
        </li>
      ))}
      {rest === 0 ? null : (
        <li>
          <span class="muted">others</span>
          <span />
          <b>{number(rest)}</b>
        </li>
      )}
    </ul>
  );
}
