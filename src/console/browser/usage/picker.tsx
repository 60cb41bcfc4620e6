import { serviceNow } from "../data/service-clock.ts";
import { SelectField, TextField } from "../parts/form/fields.tsx";
import { setParameter, setQuery, useLocation } from "../router.ts";
import type { UsageBy } from "./data.ts";
import { DAY_MS, DAYS_STANDARD, dayOf, daysAsked, parseDay, readRange } from "./range.ts";

const BY = [
  { value: "robot", word: "Robot" },
  { value: "model", word: "Model" },
] as const;

const TIMES = [
  { value: "7", word: "Last 7 days" },
  { value: "30", word: "Last 30 days" },
  { value: "90", word: "Last 90 days" },
  { value: "365", word: "Last 365 days" },
] as const;

const DATES = { value: "dates", word: "From a day to a day…" } as const;

/** Chooses the range and the grouping; both are in the URL. */
export function UsagePicker({ by }: { readonly by: UsageBy }) {
  const { query } = useLocation();
  const hasDates = query.has("from") || query.has("to");
  const days = String(daysAsked(query));
  const times =
    TIMES.some(({ value }) => value === days) || hasDates
      ? TIMES
      : [...TIMES, { value: days, word: `Last ${days} days` }];
  return (
    <div class="filters" role="group" aria-label="What to show">
      <SelectField label="Time" value={hasDates ? DATES.value : days} options={[...times, DATES]} change={chooseTime} />
      {hasDates ? (
        <>
          <DayField label="First day" parameter="from" />
          <DayField label="Last day" parameter="to" />
        </>
      ) : null}
      <SelectField label="Stacked by" value={by} options={BY} change={(value) => setParameter("by", value)} />
    </div>
  );
}

function DayField({ label, parameter }: { readonly label: string; readonly parameter: "from" | "to" }) {
  const value = useLocation().query.get(parameter);
  return (
    <TextField
      label={label}
      type="date"
      // Browsers log a warning for an invalid date.
      value={parseDay(value) === null ? "" : (value ?? "")}
      // An empty one stays in the query: the fields are for dates.
      change={(day) => setQuery((query) => query.set(parameter, day))}
    />
  );
}

function chooseTime(value: string): void {
  setQuery((query) => {
    const nowMs = serviceNow();
    const read = readRange(query, nowMs);
    for (const parameter of ["days", "from", "to"]) query.delete(parameter);
    if (value !== DATES.value) {
      if (value !== String(DAYS_STANDARD)) query.set("days", value);
      return;
    }
    // Starts with the range that is shown.
    const { sinceMs, untilMs } =
      read.state === "read" ? read.range : { sinceMs: nowMs - DAYS_STANDARD * DAY_MS, untilMs: nowMs };
    query.set("from", dayOf(sinceMs));
    query.set("to", dayOf(untilMs - 1));
  });
}
