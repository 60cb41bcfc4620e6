/** Usage: an append-only ledger of robot seconds, and its sums. These exports are for the other resources. */
export { latestBelieved, periodStart, wholeHour, wholeSecond } from "./usage.ts";
export { closePeriod, lastPeriodEnd, lockPeriods, PERIODS_AT_A_TIME } from "./usage.ts";
export type { Began } from "./usage.ts";
