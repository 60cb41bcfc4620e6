import { entered } from "../parts/form/fields.tsx";
import { useMemo } from "preact/hooks";

import type { FleetMemberChanges, FleetMemberView } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { useSubjectField } from "../models/catalog.tsx";
import { ChangeDialog, FormDialog } from "../parts/form/form-dialog.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { counted } from "../parts/text.ts";
import { showToast } from "../parts/toast.tsx";
import { useRobotViews } from "../robots/data.ts";
import { useMemberChanges } from "./data.ts";
import { PreviewList, RobotNames, usePreview } from "./preview.tsx";

interface ChangeProps {
  readonly fleet: FleetView;
  close(): void;
}

interface UpdateModelProps extends ChangeProps {
  /** Empty before they are loaded. */
  readonly members: readonly FleetMemberView[];
}

/** Updates the model of a fleet; shows beforehand which of its robots cannot run it. */
export function UpdateModel({ fleet, members, close }: UpdateModelProps) {
  const subject = useSubjectField("subject");
  const robots = useExisting(members);
  return (
    <FormDialog<FleetView>
      title={`Update the model of ${fleet.name}`}
      verb="Update model"
      fields={() => [subject]}
      requestOf={(data) => ({
        method: "POST",
        path: `/v1/fleets/${encodeURIComponent(fleet.id)}/model`,
        body: { subject: entered(data, "subject") },
      })}
      topics={["fleets"]}
      done={(updated, data) => {
        showToast(outcomeText(updated, entered(data, "subject")));
        close();
      }}
      close={close}
      below={(data) => <Preview robots={robots} subject={entered(data, "subject")} />}
    >
      <p>
        It works with <b>{fleet.active_model?.subject ?? fleet.subject}</b> until the new model is ready. If that never
        happens, it stays as it is.
      </p>
    </FormDialog>
  );
}

function Preview({ robots, subject }: { readonly robots: readonly string[]; readonly subject: string }) {
  const preview = usePreview(subject === "" || robots.length === 0 ? null : { robots, subject });
  return (
    <div class="preview-box">
      <PreviewList preview={preview} hint="Choose a model to see which robots of the fleet can run it." />
    </div>
  );
}

/** Ids of the members that can be previewed: a fleet keeps those that were removed. */
function useExisting(members: readonly FleetMemberView[]): readonly string[] {
  const robots = useRobotViews().value;
  return useMemo(() => {
    const existing = new Set(robots?.map(({ id }) => id));
    const ids = members.map(({ robot_id: robotId }) => robotId);
    return robots === undefined ? ids : ids.filter((id) => existing.has(id));
  }, [members, robots]);
}

function outcomeText({ name, update }: FleetView, subject: string): string {
  if (update === null || update === undefined) return `${name} runs ${subject}.`;
  return `${name} is being updated to ${update.subject}.`;
}

/** Selects the members of a fleet again; shows beforehand who joins and who leaves. */
export function ReconcileFleet({ fleet: { id, name, peak_active_robots: peak }, close }: ChangeProps) {
  const changes = useMemberChanges(id);
  const { joining = [], leaving = [] } = changes.value ?? {};
  return (
    <ChangeDialog
      title={`Reconcile the members of ${name}`}
      verb="Reconcile"
      isReady={joining.length + leaving.length > 0}
      request={{ method: "POST", path: `/v1/fleets/${encodeURIComponent(id)}/reconcile` }}
      topics={["fleets"]}
      done={`The members of ${name} are reconciled.`}
      close={close}
    >
      <p>
        A fleet with a selector takes the robots that match it now, once. Robots that were removed leave, and so do
        those that do not match any more.
      </p>
      <Loaded data={changes} what="who would join and leave" lines={3}>
        {(value) => <MemberChanges changes={value} peakBefore={peak} />}
      </Loaded>
    </ChangeDialog>
  );
}

interface MemberChangesProps {
  readonly changes: FleetMemberChanges;
  readonly peakBefore: number;
}

function MemberChanges({ changes, peakBefore }: MemberChangesProps) {
  const { joining, leaving, registered, peak_active_robots: peak } = changes;
  if (joining.length + leaving.length === 0) return <p role="status">The fleet has these members already.</p>;
  const groups = [
    { one: "joins", many: "join", robots: joining },
    { one: "leaves", many: "leave", robots: leaving },
  ];
  return (
    <div class="preview-box">
      {groups.map(({ one, many, robots }) =>
        robots.length === 0 ? null : (
          <div key={one}>
            <p class="group-head">
              <b>
                {counted(robots.length, "robot")} {robots.length === 1 ? one : many}
              </b>
            </p>
            <RobotNames robots={robots} opensElsewhere />
          </div>
        ),
      )}
      <p role="status">
        {`The fleet has ${counted(registered, "robot")} afterwards`}
        {peak === peakBefore ? "." : `, of which at most ${peak} may be active at once, instead of ${peakBefore}.`}
      </p>
    </div>
  );
}

/** Deletes a fleet; its robots stay. */
export function RemoveFleet({ fleet: { id, name, robots }, close }: ChangeProps) {
  return (
    <ChangeDialog
      title={`Delete ${name}?`}
      verb="Delete fleet"
      isDangerous
      request={{ method: "DELETE", path: `/v1/fleets/${encodeURIComponent(id)}` }}
      topics={["fleets", "deployments"]}
      done={`${name} is deleted.`}
      next="/fleets"
      close={close}
    >
      <p>
        Its {counted(robots.registered, "robot")} and their deployments stay, and no capacity is kept ready for them any
        more. The name is free for another fleet. A deleted fleet cannot be restored.
      </p>
    </ChangeDialog>
  );
}
