import type { JSX } from "preact";

/** On a grid of 16 × 16 with strokes of 1.5. The icons of states differ in shape, not only in colour. */
const ICONS = {
  ready: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="m5.25 8.25 2 2 3.5-4" />
    </>
  ),
  active: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="M6.5 5.25v5.5L11 8z" fill="currentColor" />
    </>
  ),
  preparing: (
    <>
      <circle cx="8" cy="8" r="6.25" stroke-dasharray="2.6 2.3" />
      <path d="M8 4.75V8l2.25 1.5" />
    </>
  ),
  waiting: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="M6.25 5.75v4.5m3.5-4.5v4.5" />
    </>
  ),
  degraded: (
    <>
      <path d="M8 2 14.5 13.5h-13z" />
      <path d="M8 6.25v3.5m0 1.75v.25" />
    </>
  ),
  blocked: (
    <>
      <path d="M5.4 1.75h5.2l3.65 3.65v5.2l-3.65 3.65H5.4L1.75 10.6V5.4z" />
      <path d="M4.75 8h6.5" />
    </>
  ),
  overview: <path d="M2 2.5h5v6H2zm7 0h5v3H9zm0 5h5v6H9zm-7 3h5v3H2z" />,
  robots: (
    <>
      <path d="M2.5 14h6M5.5 14V9.5m0 0 3-6 5 2" />
      <circle cx="5.5" cy="9.5" r="1.25" />
      <circle cx="8.5" cy="3.5" r="1.25" />
      <path d="m12.75 4 1.75 1-1 2" />
    </>
  ),
  fleets: (
    <>
      <circle cx="8" cy="3.75" r="1.75" />
      <circle cx="3.5" cy="12" r="1.75" />
      <circle cx="12.5" cy="12" r="1.75" />
      <path d="M7.1 5.4 4.4 10.4m4.5-5 2.7 5M5.4 12h5.2" />
    </>
  ),
  enrolments: (
    <>
      <path d="M2 3.5h12v7H2zM5.5 14h5M8 10.5V14" />
      <path d="m5.75 7 1.75 1.75 3-3.5" />
    </>
  ),
  models: <path d="M8 1.75 13.5 5v6L8 14.25 2.5 11V5zM2.5 5 8 8.25 13.5 5M8 8.25v6" />,
  deployments: <path d="M8 10.5v-8m-3 3 3-3 3 3M2.5 9.5v4h11v-4" />,
  keys: (
    <>
      <circle cx="5" cy="11" r="2.75" />
      <path d="m7 9 6-6m-2 2 1.75 1.75M9.25 6.75 10.5 8" />
    </>
  ),
  webhooks: (
    <>
      <circle cx="3.75" cy="8" r="2" />
      <path d="M6 8h7.5m-3-3 3 3-3 3M9 3.5H3.5m5.5 9H3.5" />
    </>
  ),
  usage: <path d="M2 14h12M4 14V9.5m4 4.5V3m4 11V6.5" />,
  audit: <path d="M3.5 1.75h9v12.5h-9zM6 5h4M6 8h4m-4 3h2.5" />,
  more: <path d="M3 4.5h10M3 8h10M3 11.5h10" />,
  copy: <path d="M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z" />,
  done: <path d="m3 8.5 3.25 3.25L13 4.5" />,
  close: <path d="m4 4 8 8m0-8-8 8" />,
  up: <path d="M8 13V3M4 7l4-4 4 4" />,
  down: <path d="M8 3v10m-4-4 4 4 4-4" />,
  dark: <path d="M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z" />,
  light: (
    <>
      <circle cx="8" cy="8" r="3" />
      <path d="M8 1v1.5m0 11V15M1 8h1.5m11 0H15M3 3l1.1 1.1m7.8 7.8L13 13m0-10-1.1 1.1M4.1 11.9 3 13" />
    </>
  ),
  leave: <path d="M6.5 2.5h-4v11h4M6 8h7.5m-3-3 3 3-3 3" />,
  dot: <circle cx="8" cy="8" r="5" fill="currentColor" stroke="none" />,
  ring: <circle cx="8" cy="8" r="5" />,
  plus: <path d="M8 3v10M3 8h10" />,
} as const satisfies Record<string, JSX.Element>;

export type IconName = keyof typeof ICONS;

/** Hidden from screen readers: the text beside it says the same. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {ICONS[name]}
    </svg>
  );
}
