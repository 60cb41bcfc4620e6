import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { useDeploymentOf } from "../deployments/data.ts";
import { ChangeDialog } from "../parts/form/form-dialog.tsx";

interface RemoveRobotProps {
  readonly robot: IdentifiedRobotView;
  close(): void;
}

/** Removes a robot; says what ends with it, and asks to type its name. */
export function RemoveRobot({ robot: { id, name, installation_id: installationId }, close }: RemoveRobotProps) {
  const current = useDeploymentOf(id).value?.items[0];
  return (
    <ChangeDialog
      title={`Remove ${name}?`}
      verb="Remove robot"
      isDangerous
      nameToType={name}
      request={{ method: "DELETE", path: `/v1/robots/${encodeURIComponent(id)}` }}
      topics={["robots", "fleets", "deployments"]}
      done={`${name} is removed.`}
      next="/robots"
      close={close}
    >
      <ul class="stops">
        {installationId === null ? null : <li>Its computer loses its credential.</li>}
        {current === undefined ? null : (
          <li>{current.model ?? "Its model"} does not serve it any more: its deployment is retired.</li>
        )}
        <li>Fleets keep it as a member that is blocked.</li>
        <li>Its history and usage stay, and its name is free for another robot.</li>
      </ul>
    </ChangeDialog>
  );
}
