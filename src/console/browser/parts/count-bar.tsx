import { Icon } from "./icon.tsx";
import { type Tone, counted } from "../../../views/view.ts";

export interface Count {
  readonly tone: Tone;
  readonly word: string;
  readonly count: number;
}

interface CountBarProps {
  readonly counts: readonly Count[];
  readonly noun: string;
  /** In a table row: only the bar, with its text as the label. */
  readonly isSmall?: boolean;
}

/** Counts by state: a bar, and the same in words below. */
export function CountBar({ counts, noun, isSmall = false }: CountBarProps) {
  const present = counts.filter(({ count }) => count > 0);
  const total = present.reduce((sum, { count }) => sum + count, 0);
  const words = present.map(({ count, word }) => `${count} ${word}`).join(", ");
  const label = total === 0 ? `no ${noun}s` : `${counted(total, noun)}: ${words}`;
  const bar = (
    <div class="counts-bar" {...(isSmall ? { role: "img", "aria-label": label } : { "aria-hidden": "true" })}>
      {present.map(({ tone, word, count }) => (
        <span key={word} data-tone={tone} style={{ flexGrow: count }} />
      ))}
    </div>
  );
  if (isSmall) return bar;
  return (
    <>
      {bar}
      <ul class="counts-legend">
        {counts.map(({ tone, word, count }) => (
          <li key={word} data-tone={tone}>
            <Icon name={tone} />
            <b>{count}</b> {word}
          </li>
        ))}
      </ul>
    </>
  );
}
