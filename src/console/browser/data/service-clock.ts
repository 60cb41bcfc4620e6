import { createStore } from "../store.ts";

/** Date headers have whole seconds, and answers take time to arrive: smaller differences are ignored. */
const TOLERANCE_MS = 5000;

/** How far the service's clock is ahead of this computer's, in milliseconds. */
export const clockOffsetMs = createStore(0);

/** Milliseconds since the epoch by the service's clock, which made all times that the console shows. */
export function serviceNow(): number {
  return Date.now() + clockOffsetMs.get();
}

/** @param date the Date header of an answer that has just arrived (RFC 9110, 6.6.1). */
export function updateClockOffset(date: string | null): void {
  const measuredMs = Date.parse(date ?? "") - Date.now();
  if (Math.abs(measuredMs - clockOffsetMs.get()) > TOLERANCE_MS) clockOffsetMs.set(measuredMs);
}
