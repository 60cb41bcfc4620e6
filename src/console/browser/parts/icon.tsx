import type { JSX } from "preact";

/** On a grid of 16 × 16 with strokes of 1.5. The icons of states differ in shape, not only in colour. */
const ICONS = {
  ready: `${circle(8, 8, 6.25)}M5.25 8.25l2 2 3.5-4`,
  active: circle(8, 8, 6.25),
  preparing: "M8 4.75V8l2.25 1.5",
  waiting: `${circle(8, 8, 6.25)}M6.25 5.75v4.5m3.5-4.5v4.5`,
  degraded: "M8 2 14.5 13.5h-13zM8 6.25v3.5m0 1.75v.25",
  blocked: "M5.4 1.75h5.2l3.65 3.65v5.2l-3.65 3.65H5.4L1.75 10.6V5.4zM4.75 8h6.5",
  copy: "M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z",
  done: "m3 8.5 3.25 3.25L13 4.5",
  close: "m4 4 8 8m0-8-8 8",
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10m-4-4 4 4 4-4",
  plus: "M8 3v10M3 8h10",
} as const satisfies Record<string, string>;

/** What a path of one stroke cannot draw. */
const MORE: Partial<Record<IconName, JSX.Element>> = {
  active: <path d="M6.5 5.25v5.5L11 8z" fill="currentColor" />,
  preparing: <circle cx="8" cy="8" r="6.25" stroke-dasharray="2.6 2.3" />,
};

export type IconName = keyof typeof ICONS;

/** Hidden from screen readers: the text beside it says the same. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={ICONS[name]} />
      {MORE[name]}
    </svg>
  );
}

/** A circle as a part of a path. */
function circle(x: number, y: number, radius: number): string {
  const half = `a${radius} ${radius} 0 1 0`;
  return `M${x - radius} ${y}${half} ${2 * radius} 0${half} ${-2 * radius} 0z`;
}
