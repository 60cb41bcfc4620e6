import { useMemo } from "preact/hooks";

import { ChoiceField, FieldError, SelectField, TextAreaField } from "../parts/form/fields.tsx";
import type { FormErrors } from "../parts/form/form-errors.ts";
import { compareTexts } from "../parts/text.ts";
import { type RegisteredRobot, useRobots } from "../robots/data.ts";
import { type FleetDraft, labelsProblem } from "./draft.ts";

interface SelectionFieldsProps {
  readonly draft: FleetDraft;
  change(part: Partial<FleetDraft>): void;
  readonly errors: FormErrors;
}

/** Which robots belong to a fleet: by a selector, or by name. */
export function SelectionFields({ draft, change, errors }: SelectionFieldsProps) {
  const whole = errors.of("selection") ?? errors.of("selection.selector");
  return (
    <>
      <ChoiceField
        legend="Robots"
        value={draft.selection}
        change={(selection) => change({ selection })}
        options={[
          { value: "selector", word: "All that match" },
          { value: "robots", word: "By name" },
        ]}
      />
      {draft.selection === "robots" ? (
        <TextAreaField
          label="Names"
          hint="Names or ids, one on each line or separated by commas."
          rows={6}
          value={draft.robots}
          change={(robots) => change({ robots })}
          error={errors.of("selection.robots") ?? errors.of("selection")}
        />
      ) : (
        <>
          <SelectorFields draft={draft} change={change} errors={errors} />
          {whole === undefined ? null : <FieldError text={whole} />}
        </>
      )}
    </>
  );
}

function SelectorFields({ draft, change, errors }: SelectionFieldsProps) {
  const list = useRobots().value ?? NO_ROBOTS;
  const options = useMemo(
    () => ({
      site: optionsOf(list, ({ site }) => site),
      region: optionsOf(list, ({ region }) => region),
      robotTypeId: optionsOf(list, ({ robot_type_id: robotTypeId }) => robotTypeId),
    }),
    [list],
  );
  return (
    <>
      <div class="field-pair">
        <SelectField
          label="Site"
          value={draft.site}
          options={options.site}
          change={(site) => change({ site })}
          error={errors.of("selection.selector.site")}
        />
        <SelectField
          label="Region"
          value={draft.region}
          options={options.region}
          change={(region) => change({ region })}
          error={errors.of("selection.selector.region")}
        />
      </div>
      <SelectField
        label="Type"
        value={draft.robot_type_id}
        options={options.robotTypeId}
        change={(robotTypeId) => change({ robot_type_id: robotTypeId })}
        error={errors.of("selection.selector.robot_type_id")}
      />
      <TextAreaField
        label="Labels"
        hint="One on each line, such as line=a. A robot must have all of them."
        rows={2}
        value={draft.labels}
        change={(labels) => change({ labels })}
        error={labelsProblem(draft) ?? errors.of("selection.selector.labels")}
      />
    </>
  );
}

const NO_ROBOTS: readonly RegisteredRobot[] = [];

function optionsOf(robots: readonly RegisteredRobot[], valueOf: (robot: RegisteredRobot) => string | null) {
  const values = [...new Set(robots.map(valueOf))].filter((value) => value !== null);
  values.sort(compareTexts);
  return [{ value: "", word: "Any" }, ...values.map((value) => ({ value, word: value }))];
}
