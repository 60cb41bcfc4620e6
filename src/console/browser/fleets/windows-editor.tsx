import { serviceNow } from "../data/request.ts";
import { EndingButton } from "../parts/form/ending-button.tsx";
import { FieldError, TextField } from "../parts/form/fields.tsx";
import { Icon } from "../parts/icon.tsx";
import { type WindowDraft, WINDOWS_MAXIMUM } from "./draft.ts";

interface WindowsEditorProps {
  readonly windows: readonly WindowDraft[];
  change(windows: readonly WindowDraft[]): void;
  readonly error: string | undefined;
  /** An error of the whole window is shown at its start. */
  errorAt(index: number, member: keyof WindowDraft): string | undefined;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Shift plans usually repeat every day of a week. */
const REPEATED_DAYS = 6;

export function WindowsEditor({ windows, change, error, errorAt }: WindowsEditorProps) {
  const last = windows.at(-1);
  const add = () => change([...windows, last === undefined ? tomorrow() : later(last, 1)]);
  const repeat = () => {
    if (last === undefined) return;
    const more = Array.from({ length: REPEATED_DAYS }, (_, day) => later(last, day + 1));
    change([...windows, ...more].slice(0, WINDOWS_MAXIMUM));
  };
  const replace = (index: number, part: Partial<WindowDraft>) =>
    change(windows.map((window, at) => (at === index ? { ...window, ...part } : window)));
  const isFull = windows.length >= WINDOWS_MAXIMUM;
  return (
    <fieldset class="choices">
      <legend class="field-label">Operating windows</legend>
      <p class="field-hint">In the time zone of this computer, {Intl.DateTimeFormat().resolvedOptions().timeZone}.</p>
      {windows.map((window, index) => (
        <div key={index} class="window-line">
          <TextField
            label={`Start ${index + 1}`}
            type="datetime-local"
            value={window.starts_at}
            change={(starts_at) => replace(index, { starts_at })}
            error={errorAt(index, "starts_at")}
          />
          <TextField
            label={`End ${index + 1}`}
            type="datetime-local"
            value={window.ends_at}
            change={(ends_at) => replace(index, { ends_at })}
            error={errorAt(index, "ends_at")}
          />
          <EndingButton
            className="button button-quiet"
            label={`Remove window ${index + 1}`}
            press={() => change(windows.filter((_, at) => at !== index))}
          >
            <Icon name="close" />
          </EndingButton>
        </div>
      ))}
      {error === undefined ? null : <FieldError text={error} />}
      <div class="buttons">
        <button type="button" class="button" disabled={isFull} onClick={add}>
          <Icon name="plus" />
          Add a window
        </button>
        {last === undefined ? null : (
          <button type="button" class="button" disabled={isFull} onClick={repeat}>
            Repeat the last for {REPEATED_DAYS} days
          </button>
        )}
      </div>
    </fieldset>
  );
}

function tomorrow(): WindowDraft {
  const start = new Date(daysLater(serviceNow(), 1));
  start.setHours(8, 0, 0, 0);
  return { starts_at: localText(start), ends_at: localText(new Date(start.getTime() + 8 * HOUR_MS)) };
}

function later({ starts_at, ends_at }: WindowDraft, days: number): WindowDraft {
  return { starts_at: shifted(starts_at, days), ends_at: shifted(ends_at, days) };
}

function shifted(local: string, days: number): string {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? local : localText(new Date(daysLater(ms, days)));
}

/** `2026-11-21T08:00`, the value format of `datetime-local` fields. */
function localText(date: Date): string {
  const shownAsUtc = new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS);
  return shownAsUtc.toISOString().slice(0, "YYYY-MM-DDTHH:MM".length);
}

/** The same local time so many days later: a day on which summer time begins or ends has 23 or 25 hours. */
function daysLater(ms: number, days: number): number {
  const date = new Date(ms);
  return date.setDate(date.getDate() + days);
}
