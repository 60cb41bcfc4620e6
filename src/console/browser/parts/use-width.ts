import { createStore, useStore } from "../store.ts";

/** Breakpoints: the smallest width in CSS pixels of each. */
export const WIDTHS = { phone: 0, narrow: 700, medium: 1100, wide: 1400 } as const;

export type Width = keyof typeof WIDTHS;

const ORDER: readonly Width[] = ["wide", "medium", "narrow", "phone"];
const width = createStore<Width>(measure());
addEventListener("resize", () => width.set(measure()));

/** Measured before the first rendering, so that nothing moves afterwards. */
export function useWidth(): Width {
  return useStore(width);
}

function measure(): Width {
  // `innerWidth` includes the scroll bar, as media queries do.
  return ORDER.find((each) => innerWidth >= WIDTHS[each]) ?? "phone";
}
