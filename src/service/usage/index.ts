/** Usage: an append-only ledger of robot seconds, and its sums. These exports are for the other resources. */
export type { ClockJump, MeteringContext } from "./clock.ts";
export { latestBelieved, periodStart, wholeHour, wholeSecond } from "./period.ts";
export type { UsageTime } from "./period.ts";
export { closePeriod, lastPeriodEnd, lockPeriods, PERIODS_AT_A_TIME } from "./queries.ts";
export type { Began } from "./queries.ts";
