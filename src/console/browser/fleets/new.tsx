import { useMemo } from "preact/hooks";

import type { FleetView } from "../../../api/fleets.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { useSubjectField } from "../models/catalog.tsx";
import type { Change } from "../parts/form/change.tsx";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { compareTexts } from "../parts/text.ts";
import { useRobotViews } from "../robots/data.ts";
import { fleetPath } from "./data.ts";
import { bodyOf, previewOf, SELECTED_BY } from "./draft.ts";
import { Preview } from "./preview.tsx";

/** Creates a fleet; shows beforehand which robots it would have, and whether they can run its model. */
export const NEW_FLEET: Change<FleetView> = {
  scope: "fleets:write",
  word: "New fleet",
  kind: "main",
  title: "New fleet",
  verb: "Create fleet",
  initial: { selection: "selector", peak_active_robots: "1", readiness_mode: "always_ready" },
  useForm(data) {
    const subject = useSubjectField("subject");
    const selection = useSelectionFields(entered(data, "selection"));
    const windows = entered(data, "readiness_mode") === "scheduled" ? [WINDOWS] : [];
    return {
      fields: [NAME, subject, ...selection, PEAK, READINESS, ...windows],
      below: <Preview body={previewOf(data)} hint="Choose robots to see them here before the fleet is created." />,
    };
  },
  requestOf: (data) => ({ method: "POST", path: "/v1/fleets", body: bodyOf(data) }),
  topics: ["fleets"],
  made: ({ id, name }) => ({ said: `${name} was created.`, next: fleetPath(id) }),
};

const NAME: FieldSpec = { name: "name", label: "Name", input: { autofocus: true, maxLength: 128, required: true } };

const PEAK: FieldSpec = {
  name: "peak_active_robots",
  label: "Peak of active robots",
  hint: "The number of robots that capacity is kept for at one time.",
  kind: "number",
  input: { min: "1", step: "1", required: true },
};

const READINESS: FieldSpec = {
  name: "readiness_mode",
  label: "Readiness",
  kind: "radio",
  options: [
    { value: "always_ready", word: "Always ready", hint: "Capacity is available at any time." },
    { value: "scheduled", word: "Scheduled", hint: "Capacity is available within operating windows." },
    { value: "on_demand", word: "On demand", hint: "Capacity is prepared when the first robot becomes active." },
  ],
};

const WINDOWS: FieldSpec = {
  name: "operating_windows",
  label: "Operating windows",
  hint: `Start and end, a window on each line, in the time zone ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`,
  kind: "area",
  input: { rows: 4, required: true, placeholder: "2030-12-01 08:00 to 2030-12-01 16:00" },
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

const LABELS: FieldSpec = {
  name: "selection.selector.labels",
  label: "Labels",
  hint: "One on each line, such as line=a. A robot must have all of them.",
  kind: "area",
  input: { rows: 2 },
};

/** Which robots belong to a fleet: by a selector, or by name. */
function useSelectionFields(selection: string): readonly FieldSpec[] {
  const robots = useRobotViews().value ?? NO_ROBOTS;
  const selector = useMemo(
    () =>
      SELECTED_BY.map(({ member, label }): FieldSpec => {
        const values = [...new Set(robots.map((robot) => robot[member]))].filter((value) => value !== null);
        const options = values.toSorted(compareTexts).map((value) => ({ value, word: value }));
        const name = `selection.selector.${member}`;
        return { name, label, kind: "select", options: [{ value: "", word: "Any" }, ...options] };
      }),
    [robots],
  );
  return selection === "robots" ? [SELECTION, NAMES] : [SELECTION, ...selector, LABELS];
}

const NO_ROBOTS: readonly IdentifiedRobotView[] = [];
