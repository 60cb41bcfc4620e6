import type { FleetView } from "../../../api/fleets.ts";
import { invalidate } from "../data/cache.ts";
import { useWrite } from "../data/use-write.ts";
import { FormDialog } from "../parts/form/form-dialog.tsx";
import { showToast } from "../parts/toast.tsx";
import { counted } from "../parts/text.ts";
import { navigate } from "../router.ts";

interface RemoveFleetProps {
  readonly fleet: FleetView;
  close(): void;
}

/** Deletes a fleet; its robots stay. */
export function RemoveFleet({ fleet: { id, name, robots }, close }: RemoveFleetProps) {
  const { send, isBusy, problem } = useWrite<unknown>();
  const remove = async () => {
    if ((await send("DELETE", `/v1/fleets/${encodeURIComponent(id)}`)) === null) return;
    invalidate(["fleets", "deployments"]);
    showToast(`${name} is deleted.`);
    close();
    navigate("/fleets");
  };
  return (
    <FormDialog
      title={`Delete ${name}?`}
      verb="Delete fleet"
      isDangerous
      isBusy={isBusy}
      errors={problem === null ? [] : [problem.detail]}
      submit={remove}
      close={close}
    >
      <p>
        Its {counted(robots.registered, "robot")} and their deployments stay, and no capacity is kept ready for them any
        more. The name is free for another fleet. A deleted fleet cannot be restored.
      </p>
    </FormDialog>
  );
}
