import { createStore } from "../store.ts";

/** Dates of answers are whole seconds, and were a moment on their way: less is no difference. */
const TOLERANCE_MS = 5000;

/** How far the service's clock is ahead of this computer's, in milliseconds; computers without a network time are minutes off. */
export const aheadMs = createStore(0);

/** Milliseconds since the epoch by the service's clock: all times that the console shows are the service's. */
export function serviceNow(): number {
  return Date.now() + aheadMs.get();
}

/** Compares the clocks. @param date of an answer that has just come (RFC 9110, 6.6.1). */
export function heedDate(date: string | null): void {
  const measuredMs = Date.parse(date ?? "") - Date.now();
  if (Math.abs(measuredMs - aheadMs.get()) > TOLERANCE_MS) aheadMs.set(measuredMs);
}
