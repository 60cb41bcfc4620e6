import { useState } from "preact/hooks";

import type { FleetMemberView } from "../../../../api/fleet-details.ts";
import type { FleetView } from "../../../../api/fleets.ts";
import { invalidate } from "../data/cache.ts";
import type { Problem } from "../data/request.ts";
import { request } from "../data/request.ts";
import { sessionEnded } from "../data/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { FieldError } from "../parts/fields.tsx";
import { formErrors } from "../parts/form-errors.ts";
import { showToast } from "../parts/toast.tsx";
import { PreviewList, usePreview } from "./fleet-preview.tsx";
import { SubjectField } from "./subject-field.tsx";

interface UpdateModelProps {
  readonly fleet: FleetView;
  /** Null while they are not known. */
  readonly members: readonly FleetMemberView[] | null;
  close(): void;
}

/** Gives a fleet another model; before that, says which of its robots could not run it. */
export function UpdateModel({ fleet, members, close }: UpdateModelProps) {
  const [subject, setSubject] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [is_busy, setBusy] = useState(false);
  const robots = members?.map(({ robot_id }) => robot_id) ?? [];
  const preview = usePreview(subject === "" || robots.length === 0 ? null : { robots, subject });
  const errors = formErrors(problem, ["subject"]);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (is_busy || subject === "") return;
    setBusy(true);
    const path = `/v1/fleets/${encodeURIComponent(fleet.id)}/model`;
    const outcome = await request<FleetView>("POST", path, { body: { subject } });
    setBusy(false);
    if (outcome.state === "failed") {
      if (outcome.problem.kind === "unauthorized") sessionEnded();
      setProblem(outcome.problem);
    }
    if (outcome.state !== "answered") return;
    invalidate(["fleets"]);
    showToast(outcomeText(outcome.value, subject));
    close();
  };
  return (
    <Dialog title={`Update the model of ${fleet.name}`} close={close}>
      <form class="form" onSubmit={submit}>
        <p>
          It works with <b>{fleet.active_model?.subject ?? fleet.subject}</b> until the new model is ready. If that
          never happens, it stays as it is.
        </p>
        <SubjectField value={subject} change={setSubject} error={errors.of("subject")} />
        {errors.rest.map((text) => (
          <FieldError key={text} text={text} />
        ))}
        <div class="preview-box">
          <PreviewList preview={preview} />
        </div>
        <div class="buttons">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button button-main" disabled={is_busy || subject === ""}>
            Update model
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function outcomeText({ name, update }: FleetView, subject: string): string {
  if (update === null || update === undefined) return `${name} runs ${subject}.`;
  return `${name} is being updated to ${update.subject}.`;
}
