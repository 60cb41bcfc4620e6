import type { FleetView } from "../../../api/fleets.ts";
import { ChangeDialog } from "../parts/form/change-dialog.tsx";
import { counted } from "../parts/text.ts";

interface RemoveFleetProps {
  readonly fleet: FleetView;
  close(): void;
}

/** Deletes a fleet; its robots stay. */
export function RemoveFleet({ fleet: { id, name, robots }, close }: RemoveFleetProps) {
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
