import { Icon } from "./icon.tsx";
import { type Count, counted, inWords, toneOf } from "../../../views/view.ts";

interface CountBarProps {
  /** By state. */
  readonly counts: readonly Count[];
  readonly noun: string;
  /** In a table row: only the bar, with its text as the label. */
  readonly isSmall?: boolean;
}

/** Counts by state: a bar, and the same in words below. */
export function CountBar({ counts, noun, isSmall = false }: CountBarProps) {
  const present = counts.filter(({ count }) => count > 0);
  const total = present.reduce((sum, { count }) => sum + count, 0);
  const words = present.map(({ count, word }) => `${count} ${inWords(word)}`).join(", ");
  const label = total === 0 ? `no ${noun}s` : `${counted(total, noun)}: ${words}`;
  const bar = (
    <div class="counts-bar" {...(isSmall ? { role: "img", "aria-label": label } : { "aria-hidden": "true" })}>
      {present.map(({ word, count }) => (
        <span key={word} data-tone={toneOf(word)} style={{ flexGrow: count }} />
      ))}
    </div>
  );
  if (isSmall) return bar;
  return (
    <>
      {bar}
      <ul class="counts-legend">
        {counts.map(({ word, count }) => (
          <li key={word} data-tone={toneOf(word)}>
            <Icon name={toneOf(word)} />
            <b>{count}</b> {inWords(word)}
          </li>
        ))}
      </ul>
    </>
  );
}
