import { useState } from "preact/hooks";

import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { TextField } from "../parts/form/fields.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";

interface ReplaceDialogProps {
  readonly robot: IdentifiedRobotView;
  readonly isBusy: boolean;
  readonly errors: readonly string[];
  replace(): Promise<void>;
  close(): void;
}

/** Asks to type the name of a robot that is online, because approving the wrong code would cut it off. */
export function ReplaceDialog({ robot: { name }, isBusy, errors, replace, close }: ReplaceDialogProps) {
  const [typed, setTyped] = useState("");
  return (
    <FormDialog
      title={`Replace the computer of ${name}?`}
      verb="Replace computer"
      isDangerous
      isReady={typed.trim().toLowerCase() === name}
      isBusy={isBusy}
      errors={errors}
      submit={replace}
      close={close}
    >
      <p>
        <b>{name}</b> is online. Its computer works until the new one has its credential; from then on every request of
        the old one is refused.
      </p>
      <TextField
        label={`Type ${name} to confirm`}
        value={typed}
        change={setTyped}
        input={{ autofocus: true, required: true }}
      />
    </FormDialog>
  );
}
