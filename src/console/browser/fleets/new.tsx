import { useMemo, useState } from "preact/hooks";

import type { FleetView } from "../../../api/fleets.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { invalidate } from "../data/query.ts";
import { serviceNow } from "../data/request.ts";
import { mayDo } from "../data/session.ts";
import { useSubjectField } from "../models/catalog.tsx";
import { EndingButton } from "../parts/form/ending-button.tsx";
import { entered, Field, FieldError, type FieldSpec } from "../parts/form/fields.tsx";
import type { FormErrors } from "../parts/form/form-errors.ts";
import { Fields, Form, useForm } from "../parts/form/form.tsx";
import { Icon } from "../parts/icon.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page, Section } from "../parts/page.tsx";
import { compareTexts } from "../parts/text.ts";
import { showToast } from "../parts/toast.tsx";
import { useRobotViews } from "../robots/data.ts";
import { navigate } from "../router.ts";
import { fleetPath } from "./data.ts";
import { bodyOf, labelsProblem, previewOf, READINESS_MODES, windowField, WINDOWS_MAXIMUM } from "./draft.ts";
import { PreviewList, usePreview } from "./preview.tsx";

const INITIAL = { selection: "selector", peak_active_robots: "1", readiness_mode: "always_ready" };

/** `/fleets/new`: creates a fleet, with a preview of its robots. */
export function NewFleet() {
  const form = useForm<FleetView>(INITIAL);
  const { data, isBusy } = form;
  const [windows, setWindows] = useState<Rows>([]);
  const subject = useSubjectField("subject");
  const selection = useSelectionFields(entered(data, "selection"));
  const preview = usePreview(previewOf(data));
  const submit = async (sent: FormData) => {
    if (labelsProblem(sent) !== undefined) return focusFirstError();
    const made = await form.send({ method: "POST", path: "/v1/fleets", body: bodyOf(sent) }, sent);
    if (made === null) return focusFirstError();
    invalidate(["fleets"]);
    showToast(`${made.name} was created.`);
    navigate(fleetPath(made.id));
  };
  const first = [NAME, subject, ...selection];
  const names = [...first, ...LAST].map((field) => field.name);
  const sent = form.errorsOf(["selection", ...names, ...windowFields(windows)]);
  const errors = {
    ...sent,
    of: (name: string) => (name === LABELS.name ? (labelsProblem(data) ?? sent.of(name)) : sent.of(name)),
  };
  return (
    <Page title="New fleet" up="fleets">
      <div class="sections fleet-new">
        <Form form={form} noValidate submit={(entries) => void submit(entries)}>
          <Refusal errors={errors.rest} />
          {mayDo("fleets:write") ? null : (
            <Notice tone="blocked" title="Your key may not create fleets.">
              <p>It lacks the scope fleets:write.</p>
            </Notice>
          )}
          <Fields form={form} fields={[...first, ...LAST]} errors={errors} />
          {entered(data, "readiness_mode") === "scheduled" ? (
            <WindowsEditor rows={windows} change={setWindows} errors={errors} />
          ) : null}
          <div class="buttons">
            <button type="submit" class="button button-main" aria-disabled={isBusy}>
              {isBusy ? "Creating…" : "Create fleet"}
            </button>
            <button type="button" class="button" onClick={() => navigate("/fleets")}>
              Cancel
            </button>
          </div>
        </Form>
        <Section title="Preview of its robots" note="Fixed when the fleet is created">
          <PreviewList
            preview={preview}
            opensElsewhere
            hint="Choose robots to see them here before the fleet is created."
          />
        </Section>
      </div>
    </Page>
  );
}

const NAME: FieldSpec = { name: "name", label: "Name", input: { maxLength: 128, required: true } };

const LAST: readonly FieldSpec[] = [
  {
    name: "peak_active_robots",
    label: "Peak of active robots",
    hint: "The number of robots that capacity is kept for at one time.",
    kind: "number",
    input: { min: "1", step: "1", required: true },
  },
  { name: "readiness_mode", label: "Readiness", kind: "radio", options: READINESS_MODES },
];

const LABELS: FieldSpec = {
  name: "selection.selector.labels",
  label: "Labels",
  hint: "One on each line, such as line=a. A robot must have all of them.",
  kind: "area",
  input: { rows: 2 },
};

const SELECTION: FieldSpec = {
  name: "selection",
  label: "Robots",
  kind: "radio",
  options: [
    { value: "selector", word: "All that match" },
    { value: "robots", word: "By name" },
  ],
};

const NAMES: FieldSpec = {
  name: "selection.robots",
  label: "Names",
  hint: "Names or ids, one on each line or separated by commas.",
  kind: "area",
  input: { rows: 6 },
};

/** Which robots belong to a fleet: by a selector, or by name. */
function useSelectionFields(selection: string): readonly FieldSpec[] {
  const list = useRobotViews().value ?? NO_ROBOTS;
  const selector = useMemo(
    () => [
      selectField("site", "Site", list, ({ site }) => site),
      selectField("region", "Region", list, ({ region }) => region),
      selectField("robot_type_id", "Type", list, ({ robot_type_id: robotTypeId }) => robotTypeId),
    ],
    [list],
  );
  return selection === "robots" ? [SELECTION, NAMES] : [SELECTION, ...selector, LABELS];
}

const NO_ROBOTS: readonly IdentifiedRobotView[] = [];

function selectField(
  member: string,
  label: string,
  robots: readonly IdentifiedRobotView[],
  valueOf: (robot: IdentifiedRobotView) => string | null,
): FieldSpec {
  const values = [...new Set(robots.map(valueOf))].filter((value) => value !== null);
  values.sort(compareTexts);
  const options = [{ value: "", word: "Any" }, ...values.map((value) => ({ value, word: value }))];
  return { name: `selection.selector.${member}`, label, kind: "select", options };
}

function Refusal({ errors }: { readonly errors: readonly string[] }) {
  if (errors.length === 0) return null;
  return (
    <div role="alert">
      <Notice tone="blocked" title="The fleet was not created.">
        {errors.map((text) => (
          <p key={text}>{text}</p>
        ))}
      </Notice>
    </div>
  );
}

/** Runs once the errors are rendered. */
function focusFirstError(): void {
  requestAnimationFrame(() => {
    const field = document.querySelector('form [aria-invalid="true"]');
    if (field instanceof HTMLElement) field.focus();
  });
}

/** A window as its two fields hold it: local times without a time zone. */
interface Window {
  readonly startsAt: string;
  readonly endsAt: string;
}

/** The windows of the form with what their fields held at first; the numbers tell them apart. */
type Rows = readonly (Window & { readonly id: number })[];

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
function windowFields(rows: Rows): readonly string[] {
  const each = rows.flatMap((_row, index) => [
    windowField(index, "starts_at"),
    windowField(index, "ends_at"),
    `operating_windows.${index}`,
  ]);
  return ["operating_windows", ...each];
}

function WindowsEditor({ rows, change, errors }: WindowsEditorProps) {
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
