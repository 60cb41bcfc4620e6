/** Days of the person's time zone: those on which summer time begins or ends have 23 or 25 hours. */
export function startOfDay(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0);
}

/** The start of the day so many days later: an hour after midnight where summer time begins at midnight. */
export function startOfDayLater(ms: number, days: number): number {
  return startOfDay(daysLater(ms, days));
}

/** The same local time so many days later. */
export function daysLater(ms: number, days: number): number {
  const date = new Date(ms);
  return date.setDate(date.getDate() + days);
}
