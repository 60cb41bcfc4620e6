/** Days of the person's time zone: those on which summer time begins or ends have 23 or 25 hours. */
export function startOfDay(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0);
}

/** The same local time so many days later. */
export function daysLater(ms: number, days: number): number {
  const date = new Date(ms);
  return date.setDate(date.getDate() + days);
}
