/** Milliseconds of simulated time. */
export function simulatedMinutes(minutes: number): number {
  return minutes * 60_000;
}
