import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
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
  return (
    <FormDialog
      title={`Replace the computer of ${name}?`}
      verb="Replace computer"
      isDangerous
      nameToType={name}
      isBusy={isBusy}
      errors={errors}
      submit={replace}
      close={close}
    >
      <p>
        <b>{name}</b> is online. Its computer works until the new one has its credential; from then on every request of
        the old one is refused.
      </p>
    </FormDialog>
  );
}
