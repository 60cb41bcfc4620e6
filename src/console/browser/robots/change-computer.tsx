import { useState } from "preact/hooks";

import type { InstallationView } from "../../../api/installations.ts";
import { invalidate } from "../data/query.ts";
import { useWrite } from "../data/write.ts";
import { TextField } from "../parts/form/fields.tsx";
import { ChangeDialog, FormDialog } from "../parts/form/form-dialog.tsx";
import { useFormErrors } from "../parts/form/form-errors.ts";
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

const TIMES = "5";

/** Lets a robot that was away for long renew its expired credential. */
export function RecoveryDialog({ robot, path, close }: ChangeProps) {
  const [times, setTimes] = useState(TIMES);
  const { send, isBusy, problem } = useWrite<InstallationView>();
  const errors = useFormErrors({ isBusy, problem }, ["recoveries_remaining"], { recoveries_remaining: times });
  const allow = async () => {
    if ((await send("PATCH", path, { recoveries_remaining: Number(times) })) === null) return;
    invalidate(["robots"]);
    showToast(`${robot} may recover ${counted(Number(times), "time")}.`);
    close();
  };
  return (
    <FormDialog
      title={`Let ${robot} recover?`}
      verb="Allow"
      isReady={times !== ""}
      isBusy={isBusy}
      errors={errors.rest}
      submit={allow}
      close={close}
    >
      <p>
        A robot that was off while its credential expired renews it when it is back. This says how often, and starts the
        time for it now. The robot tries by itself, within minutes.
      </p>
      <TextField
        label="How often"
        type="number"
        value={times}
        change={setTimes}
        error={errors.of("recoveries_remaining")}
        input={{ min: "0", max: "100", required: true, autofocus: true }}
      />
    </FormDialog>
  );
}
