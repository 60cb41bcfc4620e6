import type { InstallationView } from "../../../api/installations.ts";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { ChangeDialog, FormDialog } from "../parts/form/form-dialog.tsx";
import { counted } from "../parts/text.ts";
import { showToast } from "../parts/toast.tsx";

interface ChangeProps {
  /** Name of the robot. */
  readonly robot: string;
  /** Of its installation. */
  readonly path: string;
  close(): void;
}

/** Lets a frozen robot work again. */
export function ThawDialog({ robot, path, close }: ChangeProps) {
  return (
    <ChangeDialog
      title={`Thaw ${robot}?`}
      verb="Thaw"
      request={{ method: "PATCH", path, body: { frozen: false } }}
      topics={["robots", "fleets"]}
      done={`${robot} is not frozen any more.`}
      close={close}
    >
      <p>
        Its computer works again within minutes. If two computers really have its key, it freezes again: enroll the
        right one again instead.
      </p>
    </ChangeDialog>
  );
}

const FIELDS: readonly FieldSpec[] = [
  {
    name: "recoveries_remaining",
    label: "How often",
    kind: "number",
    input: { min: "0", max: "100", required: true, autofocus: true },
  },
];

/** Lets a robot that was away for long renew its expired credential. */
export function RecoveryDialog({ robot, path, close }: ChangeProps) {
  const timesIn = (data: FormData) => Number(entered(data, "recoveries_remaining"));
  return (
    <FormDialog<InstallationView>
      title={`Let ${robot} recover?`}
      verb="Allow"
      initial={{ recoveries_remaining: "5" }}
      fields={() => FIELDS}
      requestOf={(data) => ({ method: "PATCH", path, body: { recoveries_remaining: timesIn(data) } })}
      topics={["robots"]}
      done={(_answer, data) => {
        showToast(`${robot} may recover ${counted(timesIn(data), "time")}.`);
        close();
      }}
      close={close}
    >
      <p>
        A robot that was off while its credential expired renews it when it is back. This says how often, and starts the
        time for it now. The robot tries by itself, within minutes.
      </p>
    </FormDialog>
  );
}
