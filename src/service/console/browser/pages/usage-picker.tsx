import { serviceNow } from "../data/service-clock.ts";
import { Field, SelectField } from "../parts/fields.tsx";
import { setQuery, usePlace } from "../router.ts";
import type { UsageBy } from "./usage-data.ts";
import { DAY_MS, DAYS_STANDARD, dayOf, parseDay, readRange } from "./usage-range.ts";

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

/** Which time, and by what; both are in the address. */
export function UsagePicker({ by }: { readonly by: UsageBy }) {
  const { query } = usePlace();
  const has_dates = query.has("from") || query.has("to");
  const days = query.get("days") ?? String(DAYS_STANDARD);
  const times =
    TIMES.some(({ value }) => value === days) || has_dates
      ? TIMES
      : [...TIMES, { value: days, word: `Last ${days} days` }];
  return (
    <div class="filters" role="group" aria-label="What to show">
      <SelectField
        label="Time"
        value={has_dates ? DATES.value : days}
        options={[...times, DATES]}
        change={chooseTime}
      />
      {has_dates ? (
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
  const value = usePlace().query.get(parameter);
  return (
    <Field
      label={label}
      control={(wiring) => (
        <input
          {...wiring}
          type="date"
          class="input"
          // Browsers complain of what is no day.
          value={parseDay(value) === null ? "" : (value ?? "")}
          onChange={({ currentTarget }) => setParameter(parameter, currentTarget.value)}
        />
      )}
    />
  );
}

function chooseTime(value: string): void {
  setQuery((query) => {
    const now_ms = serviceNow();
    const read = readRange(query, now_ms);
    for (const parameter of ["days", "from", "to"]) query.delete(parameter);
    if (value !== DATES.value) {
      if (value !== String(DAYS_STANDARD)) query.set("days", value);
      return;
    }
    // Begins with what is shown.
    const { since_ms, until_ms } =
      read.state === "read" ? read.range : { since_ms: now_ms - DAYS_STANDARD * DAY_MS, until_ms: now_ms };
    query.set("from", dayOf(since_ms));
    query.set("to", dayOf(until_ms - 1));
  });
}

function setParameter(parameter: string, value: string): void {
  setQuery((query) => query.set(parameter, value));
}
