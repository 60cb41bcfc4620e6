/** Milliseconds of simulated time. */
export function simulatedMinutes(minutes: number): number {
  return minutes * 60_000;
}

export function simulatedHours(hours: number): number {
  return simulatedMinutes(60 * hours);
}
