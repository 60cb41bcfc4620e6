import { useState } from "preact/hooks";

import type { FleetView } from "../../../api/fleets.ts";
import { invalidate } from "../data/query.ts";
import { mayDo } from "../data/session.ts";
import { useWrite } from "../data/write.ts";
import { SubjectField } from "../models/catalog.tsx";
import { ChoiceField, TextField } from "../parts/form/fields.tsx";
import { Form } from "../parts/form/form.tsx";
import { type FormErrors, useFormErrors } from "../parts/form/form-errors.ts";
import { Notice } from "../parts/notice.tsx";
import { Page, Section } from "../parts/page.tsx";
import { showToast } from "../parts/toast.tsx";
import { useWidth, WIDTHS } from "../parts/use-width.ts";
import { navigate } from "../router.ts";
import { fleetPath } from "./data.ts";
import {
  bodyOf,
  EMPTY_DRAFT,
  FLEET_FIELDS,
  type FleetDraft,
  labelsProblem,
  previewOf,
  READINESS_MODES,
  type WindowDraft,
} from "./draft.ts";
import { PreviewList, usePreview } from "./preview.tsx";
import { SelectionFields } from "./selection-fields.tsx";
import { WindowsEditor } from "./windows-editor.tsx";

/** `/fleets/new`: creates a fleet, with a preview of its robots. */
export function NewFleet() {
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const { send, isBusy, problem } = useWrite<FleetView>();
  const preview = usePreview(previewOf(draft));
  const change = (part: Partial<FleetDraft>) => setDraft({ ...draft, ...part });
  const submit = async () => {
    if (labelsProblem(draft) !== null) return focusFirstError();
    const made = await send("POST", "/v1/fleets", bodyOf(draft));
    if (made === null) return focusFirstError();
    invalidate(["fleets"]);
    showToast(`${made.name} was created.`);
    navigate(fleetPath(made.id));
  };
  const errors = useFormErrors({ isBusy, problem }, FLEET_FIELDS, bodyOf(draft));
  // Without room beside the form, the preview follows the fields that select robots.
  const hasSide = WIDTHS[useWidth()] >= WIDTHS.medium;
  return (
    <Page title="New fleet" up="fleets">
      <div class="sections fleet-new">
        <Form noValidate submit={() => void submit()}>
          <Refusal errors={errors} />
          {mayDo("fleets:write") ? null : (
            <Notice tone="blocked" title="Your key may not create fleets.">
              <p>It lacks the scope fleets:write.</p>
            </Notice>
          )}
          <TextField
            label="Name"
            value={draft.name}
            change={(name) => change({ name })}
            error={errors.of("name")}
            input={{ maxLength: 128, required: true }}
          />
          <SubjectField value={draft.subject} change={(subject) => change({ subject })} error={errors.of("subject")} />
          <SelectionFields draft={draft} change={change} errors={errors} />
          {hasSide ? null : <PreviewSection preview={preview} />}
          <TextField
            label="Peak of active robots"
            hint="The number of robots that capacity is kept for at one time."
            type="number"
            value={draft.peak_active_robots}
            change={(peakActiveRobots) => change({ peak_active_robots: peakActiveRobots })}
            error={errors.of("peak_active_robots")}
            input={{ min: "1", step: "1", required: true }}
          />
          <ChoiceField
            legend="Readiness"
            value={draft.readiness_mode}
            change={(readinessMode) => change({ readiness_mode: readinessMode })}
            options={READINESS_MODES}
            error={errors.of("readiness_mode")}
          />
          {draft.readiness_mode === "scheduled" ? (
            <WindowsEditor
              windows={draft.windows}
              change={(windows) => change({ windows })}
              errorAt={(index, member) => windowError(errors, index, member)}
              error={errors.of("operating_windows")}
            />
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
        {hasSide ? <PreviewSection preview={preview} /> : null}
      </div>
    </Page>
  );
}

function PreviewSection({ preview }: { readonly preview: ReturnType<typeof usePreview> }) {
  return (
    <Section title="Preview of its robots" note="Fixed when the fleet is created">
      <PreviewList preview={preview} hint="Choose robots to see them here before the fleet is created." />
    </Section>
  );
}

function windowError(errors: FormErrors, index: number, member: keyof WindowDraft): string | undefined {
  const path = `operating_windows.${index}`;
  const whole = member === "starts_at" ? errors.of(path) : undefined;
  return errors.of(`${path}.${member}`) ?? whole;
}

function Refusal({ errors: { rest } }: { readonly errors: FormErrors }) {
  if (rest.length === 0) return null;
  return (
    <div role="alert">
      <Notice tone="blocked" title="The fleet was not created.">
        {rest.map((text) => (
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
