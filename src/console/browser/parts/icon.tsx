import type { JSX } from "preact";

/** On a grid of 16 × 16 with strokes of 1.5. The icons of states differ in shape, not only in colour. */
const ICONS = {
  ready: `${circle(8, 8, 6.25)}M5.25 8.25l2 2 3.5-4`,
  active: circle(8, 8, 6.25),
  preparing: "M8 4.75V8l2.25 1.5",
  waiting: `${circle(8, 8, 6.25)}M6.25 5.75v4.5m3.5-4.5v4.5`,
  degraded: "M8 2 14.5 13.5h-13zM8 6.25v3.5m0 1.75v.25",
  blocked: "M5.4 1.75h5.2l3.65 3.65v5.2l-3.65 3.65H5.4L1.75 10.6V5.4zM4.75 8h6.5",
  overview: "M2 2.5h5v6H2zm7 0h5v3H9zm0 5h5v6H9zm-7 3h5v3H2z",
  robots: `M2.5 14h6M5.5 14V9.5m0 0 3-6 5 2${circle(5.5, 9.5, 1.25)}${circle(8.5, 3.5, 1.25)}M12.75 4l1.75 1-1 2`,
  fleets: `${circle(8, 3.75, 1.75)}${circle(3.5, 12, 1.75)}${circle(12.5, 12, 1.75)}M7.1 5.4 4.4 10.4m4.5-5 2.7 5M5.4 12h5.2`,
  enrolments: "M2 3.5h12v7H2zM5.5 14h5M8 10.5V14M5.75 7l1.75 1.75 3-3.5",
  models: "M8 1.75 13.5 5v6L8 14.25 2.5 11V5zM2.5 5 8 8.25 13.5 5M8 8.25v6",
  deployments: "M8 10.5v-8m-3 3 3-3 3 3M2.5 9.5v4h11v-4",
  keys: `${circle(5, 11, 2.75)}M7 9l6-6m-2 2 1.75 1.75M9.25 6.75 10.5 8`,
  webhooks: `${circle(3.75, 8, 2)}M6 8h7.5m-3-3 3 3-3 3M9 3.5H3.5m5.5 9H3.5`,
  usage: "M2 14h12M4 14V9.5m4 4.5V3m4 11V6.5",
  audit: "M3.5 1.75h9v12.5h-9zM6 5h4M6 8h4m-4 3h2.5",
  copy: "M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z",
  done: "m3 8.5 3.25 3.25L13 4.5",
  close: "m4 4 8 8m0-8-8 8",
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10m-4-4 4 4 4-4",
  dark: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  light: `${circle(8, 8, 3)}M8 1v1.5m0 11V15M1 8h1.5m11 0H15M3 3l1.1 1.1m7.8 7.8L13 13m0-10-1.1 1.1M4.1 11.9 3 13`,
  leave: "M6.5 2.5h-4v11h4M6 8h7.5m-3-3 3 3-3 3",
  dot: "",
  ring: circle(8, 8, 5),
  plus: "M8 3v10M3 8h10",
} as const satisfies Record<string, string>;

/** What a path of one stroke cannot draw. */
const MORE: Partial<Record<IconName, JSX.Element>> = {
  active: <path d="M6.5 5.25v5.5L11 8z" fill="currentColor" />,
  preparing: <circle cx="8" cy="8" r="6.25" stroke-dasharray="2.6 2.3" />,
  dot: <circle cx="8" cy="8" r="5" fill="currentColor" stroke="none" />,
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
