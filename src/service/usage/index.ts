/** Usage: an append-only ledger of robot seconds, and its sums. These exports are for the other resources. */
export { latestBelieved, periodStart, wholeHour, wholeSecond } from "./period.ts";
export { closePeriod, lastPeriodEnd, lockPeriods, PERIODS_AT_A_TIME } from "./queries.ts";
export type { Began } from "./queries.ts";
