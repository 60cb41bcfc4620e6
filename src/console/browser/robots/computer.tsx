import { counted } from "../../../views/view.ts";
import type { InstallationView } from "../../../api/installations.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { computerFacts, ENROLL_COMMAND, THAWING } from "../../../views/computers.ts";
import { mayDo } from "../data/session.ts";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { ChangeDialog, FormDialog } from "../parts/form/form-dialog.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Section } from "../parts/page.tsx";
import { ShownFacts } from "../parts/shown.tsx";
import { showToast } from "../parts/toast.tsx";
import { installationPath, useInstallation } from "./data.ts";

/** The computer that speaks for the robot: its key, its credential, and when it was seen. */
export function Computer({ robot }: { readonly robot: IdentifiedRobotView }) {
  const installation = useInstallation(robot);
  return (
    <Section title="Computer">
      <Loaded data={installation} what="the computer of this robot" lines={6} missing={<NotEnrolled />}>
        {(view) => (
          <>
            <ShownFacts facts={computerFacts(view)} />
            <Changes robot={robot} state={view.state} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

function NotEnrolled() {
  return (
    <p class="muted">
      No computer was enrolled as this robot: it registers with an API key, and sends no heartbeats. To give it a
      credential of its own, run <code>{ENROLL_COMMAND}</code> on it.
    </p>
  );
}

interface ChangesProps extends Pick<InstallationView, "state"> {
  readonly robot: IdentifiedRobotView;
}

function Changes({ robot, state }: ChangesProps) {
  const path = installationPath(robot);
  if (state === "revoked" || !mayDo("robots:write")) return null;
  return (
    <div class="buttons">
      {state === "frozen" ? (
        <DialogButton scope="robots:write" word="Thaw">
          {(close) => <ThawDialog robot={robot.name} path={path} close={close} />}
        </DialogButton>
      ) : null}
      <DialogButton scope="robots:write" word="Allow recovery">
        {(close) => <RecoveryDialog robot={robot.name} path={path} close={close} />}
      </DialogButton>
    </div>
  );
}

interface ChangeProps {
  /** Name of the robot. */
  readonly robot: string;
  /** Of its installation. */
  readonly path: string;
  close(): void;
}

/** Lets a frozen robot work again. */
function ThawDialog({ robot, path, close }: ChangeProps) {
  return (
    <ChangeDialog
      title={`Thaw ${robot}?`}
      verb="Thaw"
      request={{ method: "PATCH", path, body: { frozen: false } }}
      topics={["robots", "fleets"]}
      done={`${robot} is not frozen any more.`}
      close={close}
    >
      <p>{THAWING.join(" ")}</p>
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
function RecoveryDialog({ robot, path, close }: ChangeProps) {
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
