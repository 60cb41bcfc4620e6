import { serviceNow } from "../data/request.ts";
import { EndingButton } from "../parts/form/ending-button.tsx";
import { entered, Field, FieldError } from "../parts/form/fields.tsx";
import type { FormErrors } from "../parts/form/form-errors.ts";
import { Icon } from "../parts/icon.tsx";
import { windowField, WINDOWS_MAXIMUM } from "./draft.ts";

/** A window as its two fields hold it: local times without a time zone. */
interface Window {
  readonly startsAt: string;
  readonly endsAt: string;
}

/** The windows of the form with what their fields held at first; the numbers tell them apart. */
export type Rows = readonly (Window & { readonly id: number })[];

interface WindowsEditorProps {
  readonly rows: Rows;
  change(rows: Rows): void;
  readonly errors: FormErrors;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Shift plans usually repeat every day of a week. */
const REPEATED_DAYS = 6;

/** Names of the fields, and of what errors of whole windows have. */
export function windowFields(rows: Rows): readonly string[] {
  const each = rows.flatMap((_row, index) => [
    windowField(index, "starts_at"),
    windowField(index, "ends_at"),
    `operating_windows.${index}`,
  ]);
  return ["operating_windows", ...each];
}

export function WindowsEditor({ rows, change, errors }: WindowsEditorProps) {
  const add = (windows: readonly Window[]) => {
    const firstId = (rows.at(-1)?.id ?? 0) + 1;
    const added = windows.map((window, index) => ({ ...window, id: firstId + index }));
    change([...rows, ...added].slice(0, WINDOWS_MAXIMUM));
  };
  /** As the person has left its fields. */
  const lastIn = (form: HTMLFormElement | null): Window | undefined => {
    if (form === null || rows.length === 0) return undefined;
    const [data, index] = [new FormData(form), rows.length - 1];
    return {
      startsAt: entered(data, windowField(index, "starts_at")),
      endsAt: entered(data, windowField(index, "ends_at")),
    };
  };
  const addOne = (last: Window | undefined) => add([last === undefined ? tomorrow() : later(last, 1)]);
  const repeat = (last: Window | undefined) => {
    if (last !== undefined) add(Array.from({ length: REPEATED_DAYS }, (_, day) => later(last, day + 1)));
  };
  const isFull = rows.length >= WINDOWS_MAXIMUM;
  const error = errors.of("operating_windows");
  return (
    <fieldset class="choices">
      <legend class="field-label">Operating windows</legend>
      <p class="field-hint">In the time zone of this computer, {Intl.DateTimeFormat().resolvedOptions().timeZone}.</p>
      {rows.map(({ id, startsAt, endsAt }, index) => (
        <div key={id} class="window-line">
          <Field
            name={windowField(index, "starts_at")}
            label={`Start ${index + 1}`}
            kind="datetime-local"
            value={startsAt}
            error={errors.of(windowField(index, "starts_at")) ?? errors.of(`operating_windows.${index}`)}
          />
          <Field
            name={windowField(index, "ends_at")}
            label={`End ${index + 1}`}
            kind="datetime-local"
            value={endsAt}
            error={errors.of(windowField(index, "ends_at"))}
          />
          <EndingButton
            className="button button-quiet"
            label={`Remove window ${index + 1}`}
            press={() => change(rows.filter((row) => row.id !== id))}
          >
            <Icon name="close" />
          </EndingButton>
        </div>
      ))}
      {error === undefined ? null : <FieldError text={error} />}
      <div class="buttons">
        <button
          type="button"
          class="button"
          disabled={isFull}
          onClick={({ currentTarget }) => addOne(lastIn(currentTarget.form))}
        >
          <Icon name="plus" />
          Add a window
        </button>
        {rows.length === 0 ? null : (
          <button
            type="button"
            class="button"
            disabled={isFull}
            onClick={({ currentTarget }) => repeat(lastIn(currentTarget.form))}
          >
            Repeat the last for {REPEATED_DAYS} days
          </button>
        )}
      </div>
    </fieldset>
  );
}

function tomorrow(): Window {
  const start = new Date(daysLater(serviceNow(), 1));
  start.setHours(8, 0, 0, 0);
  return { startsAt: localText(start), endsAt: localText(new Date(start.getTime() + 8 * HOUR_MS)) };
}

function later({ startsAt, endsAt }: Window, days: number): Window {
  return { startsAt: shifted(startsAt, days), endsAt: shifted(endsAt, days) };
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
