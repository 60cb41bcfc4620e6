import { createStore } from "../store.ts";

/** Dates of answers are whole seconds, and were a moment on their way: less is no difference. */
const TOLERANCE_MS = 5000;

/** How far the service's clock is ahead of this computer's, in milliseconds; computers without a network time are minutes off. */
export const ahead_ms = createStore(0);

/** Milliseconds since the epoch by the service's clock: all times that the console shows are the service's. */
export function serviceNow(): number {
  return Date.now() + ahead_ms.get();
}

/** Compares the clocks. @param date of an answer that has just come (RFC 9110, 6.6.1). */
export function heedDate(date: string | null): void {
  const measured_ms = Date.parse(date ?? "") - Date.now();
  if (Math.abs(measured_ms - ahead_ms.get()) > TOLERANCE_MS) ahead_ms.set(measured_ms);
}
