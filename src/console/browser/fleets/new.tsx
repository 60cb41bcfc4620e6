import { useMemo, useState } from "preact/hooks";

import type { FleetView } from "../../../api/fleets.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { invalidate } from "../data/query.ts";
import { mayDo } from "../data/session.ts";
import { useSubjectField } from "../models/catalog.tsx";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { Fields, Form, useForm } from "../parts/form/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page, Section } from "../parts/page.tsx";
import { compareTexts } from "../parts/text.ts";
import { showToast } from "../parts/toast.tsx";
import { useRobotViews } from "../robots/data.ts";
import { navigate } from "../router.ts";
import { fleetPath } from "./data.ts";
import { bodyOf, labelsProblem, previewOf, READINESS_MODES } from "./draft.ts";
import { PreviewList, usePreview } from "./preview.tsx";
import { type Rows, WindowsEditor, windowFields } from "./windows-editor.tsx";

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
