import { serviceNow } from "../data/service-clock.ts";
import { SelectField, TextField } from "../parts/form/fields.tsx";
import { counted } from "../parts/text.ts";
import { setParameter, setQuery, useLocation } from "../router.ts";
import type { UsageBy } from "./data.ts";
import { DAY_MS, DAYS_STANDARD, dayOf, daysAsked, parseDay } from "./range.ts";

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
  const asked = daysAsked(query);
  const days = String(asked);
  const times =
    TIMES.some(({ value }) => value === days) || hasDates
      ? TIMES
      : [...TIMES, { value: days, word: `Last ${counted(asked, "day")}` }];
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
    const days = daysAsked(query);
    for (const parameter of ["days", "from", "to"]) query.delete(parameter);
    if (value === DATES.value) {
      // Starts with as many whole days, today the last.
      const nowMs = serviceNow();
      query.set("from", dayOf(nowMs - (days - 1) * DAY_MS));
      query.set("to", dayOf(nowMs));
    } else if (value !== String(DAYS_STANDARD)) query.set("days", value);
  });
}
