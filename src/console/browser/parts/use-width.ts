import { createStore, useStore } from "../store.ts";

/** How much room there is for columns; the least CSS pixels of each. */
export const WIDTHS = { phone: 0, narrow: 700, medium: 1000, wide: 1400, wall: 2000 } as const;

export type Width = keyof typeof WIDTHS;

const ORDER: readonly Width[] = ["wall", "wide", "medium", "narrow", "phone"];
const width = createStore<Width>(measure());
addEventListener("resize", () => width.set(measure()));

/** Known before the first rendering, so that nothing moves after it. */
export function useWidth(): Width {
  return useStore(width);
}

function measure(): Width {
  // As media queries measure, with the scroll bar.
  return ORDER.find((each) => innerWidth >= WIDTHS[each]) ?? "phone";
}
