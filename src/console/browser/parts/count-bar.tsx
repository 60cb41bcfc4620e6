import { Icon } from "./icon.tsx";
import { type Tone, counted } from "../../../views/view.ts";

export interface Count {
  readonly tone: Tone;
  readonly word: string;
  readonly count: number;
}

/** In units of the drawing, which is stretched to the available width. */
const WIDTH = 1000;
const GAP = 3;

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
  return (
    <div class="counts" data-small={isSmall ? "" : undefined}>
      <svg
        class="counts-bar"
        viewBox={`0 0 ${WIDTH} 10`}
        preserveAspectRatio="none"
        {...(isSmall ? { role: "img", "aria-label": label } : { "aria-hidden": "true" })}
      >
        {total === 0 ? <rect class="counts-rest" width={WIDTH} height="10" /> : segments(present, total)}
      </svg>
      {isSmall ? null : (
        <ul class="counts-legend">
          {counts.map(({ tone, word, count }) => (
            <li key={word} data-tone={tone}>
              <Icon name={tone} />
              <b>{count}</b> {word}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Proportional, with a minimum width: one blocked robot of a thousand must be visible. */
function segments(counts: readonly Count[], total: number) {
  const least = WIDTH / 60;
  const room = WIDTH - GAP * (counts.length - 1);
  const wanted = counts.map(({ count }) => Math.max(least, (count / total) * room));
  const scale = room / wanted.reduce((sum, width) => sum + width, 0);
  let x = 0;
  return counts.map(({ tone, word }, index) => {
    const width = (wanted[index] ?? 0) * scale;
    const at = x;
    x += width + GAP;
    return <rect key={word} class="counts-segment" data-tone={tone} x={at} width={width} height="10" />;
  });
}
