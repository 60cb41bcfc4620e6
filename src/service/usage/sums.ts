import type { UsageGrouping, UsageSummary } from "../../api/usage.ts";
import type { SummedPeriod } from "../store/usage.ts";

const SECOND_MS = 1000;
const DAY_MS = 86_400_000;

/** From the first to the second, in milliseconds since the epoch, both whole seconds. */
export interface Stretch {
  readonly since_ms: number;
  readonly until_ms: number;
}

type Sum = UsageSummary["items"][number];

/** Sums up periods by what `by` names, as far as they lie within a stretch. */
export interface Sums {
  add(period: Omit<SummedPeriod, "id">): void;
  readonly count: number;
  /** By day, then by name. */
  items(): readonly Sum[];
}

export function createSums(by: UsageGrouping, { since_ms, until_ms }: Stretch): Sums {
  const dimensions = new Set(by.split(","));
  const [byDay, byRobot, byModel] = [dimensions.has("day"), dimensions.has("robot"), dimensions.has("model")];
  const sums = new Map<string, Sum>();

  function count(
    day: string | null,
    { robot_name, model_slug }: Pick<SummedPeriod, "robot_name" | "model_slug">,
    quantity: number,
  ): void {
    const [robot, model] = [byRobot ? robot_name : null, byModel ? model_slug : null];
    // No name has NUL in it, so that two of them never run together.
    const key = `${day ?? ""}\0${robot ?? ""}\0${model ?? ""}`;
    sums.set(key, { day, robot, model_slug: model, quantity: (sums.get(key)?.quantity ?? 0) + quantity });
  }

  return {
    add(period) {
      const start_ms = Date.parse(period.period_start);
      // One that runs has come to its quantity so far.
      const end_ms =
        period.period_end === null ? start_ms + period.quantity * SECOND_MS : Date.parse(period.period_end);
      const last_ms = Math.min(end_ms, until_ms);
      for (let from_ms = Math.max(start_ms, since_ms); from_ms < last_ms;) {
        const next_day_ms = (Math.floor(from_ms / DAY_MS) + 1) * DAY_MS;
        const to_ms = byDay ? Math.min(last_ms, next_day_ms) : last_ms;
        const day = byDay ? new Date(from_ms).toISOString().slice(0, "YYYY-MM-DD".length) : null;
        count(day, period, (to_ms - from_ms) / SECOND_MS);
        from_ms = to_ms;
      }
    },
    get count() {
      return sums.size;
    },
    items: () => [...sums.entries()].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, sum]) => sum),
  };
}
