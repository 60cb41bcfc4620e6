import type { UsageGrouping, UsageSummary } from "../../api/usage.ts";
import type { SummedPeriod } from "./queries.ts";

const SECOND_MS = 1000;
const DAY_MS = 86_400_000;

/** Milliseconds since the epoch, both at whole seconds. */
export interface Stretch {
  readonly sinceMs: number;
  readonly untilMs: number;
}

type Sum = UsageSummary["items"][number];

/** Sums of the parts of periods that are within a time range. */
export interface Sums {
  add(period: Omit<SummedPeriod, "id">): void;
  readonly count: number;
  /** By day, then by name. */
  items(): readonly Sum[];
}

export function createSums(by: UsageGrouping, { sinceMs, untilMs }: Stretch): Sums {
  const dimensions = new Set(by.split(","));
  const [byDay, byRobot, byModel] = [dimensions.has("day"), dimensions.has("robot"), dimensions.has("model")];
  const sums = new Map<string, Sum>();

  function count(
    day: string | null,
    { robot_name: robotName, model_slug: modelSlug }: Pick<SummedPeriod, "robot_name" | "model_slug">,
    quantity: number,
  ): void {
    const [robot, model] = [byRobot ? robotName : null, byModel ? modelSlug : null];
    // Unambiguous, because names contain no NUL.
    const key = `${day ?? ""}\0${robot ?? ""}\0${model ?? ""}`;
    sums.set(key, { day, robot, model_slug: model, quantity: (sums.get(key)?.quantity ?? 0) + quantity });
  }

  return {
    add(period) {
      const startMs = Date.parse(period.period_start);
      // A running period has no end, but its quantity until now.
      const endMs = period.period_end === null ? startMs + period.quantity * SECOND_MS : Date.parse(period.period_end);
      const lastMs = Math.min(endMs, untilMs);
      for (let fromMs = Math.max(startMs, sinceMs); fromMs < lastMs;) {
        const nextDayMs = (Math.floor(fromMs / DAY_MS) + 1) * DAY_MS;
        const toMs = byDay ? Math.min(lastMs, nextDayMs) : lastMs;
        const day = byDay ? new Date(fromMs).toISOString().slice(0, "YYYY-MM-DD".length) : null;
        count(day, period, (toMs - fromMs) / SECOND_MS);
        fromMs = toMs;
      }
    },
    get count() {
      return sums.size;
    },
    items: () => [...sums.entries()].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, sum]) => sum),
  };
}
