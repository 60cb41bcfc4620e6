import type { InstallationView } from "../../../api/installations.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { computerFacts, ENROLL_COMMAND, THAWING } from "../../../views/computers.ts";
import { counted } from "../../../views/view.ts";
import { type Change, ChangeButtons } from "../parts/form/change.tsx";
import { entered } from "../parts/form/fields.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Section } from "../parts/page.tsx";
import { ShownFacts } from "../parts/shown.tsx";
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
            <div class="buttons">
              <ChangeButtons changes={changesOf(robot, view)} />
            </div>
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

function changesOf(robot: IdentifiedRobotView, { state }: InstallationView): readonly Change[] {
  if (state === "revoked") return [];
  return state === "frozen" ? [thawing(robot), recovery(robot)] : [recovery(robot)];
}

/** Lets a frozen robot work again. */
function thawing(robot: IdentifiedRobotView): Change {
  return {
    scope: "robots:write",
    word: "Thaw",
    title: `Thaw ${robot.name}?`,
    body: <p>{THAWING.join(" ")}</p>,
    requestOf: () => ({ method: "PATCH", path: installationPath(robot), body: { frozen: false } }),
    topics: ["robots", "fleets"],
    made: () => ({ said: `${robot.name} is not frozen any more.` }),
  };
}

/** Lets a robot that was away for long renew its expired credential. */
function recovery(robot: IdentifiedRobotView): Change {
  const name = "recoveries_remaining";
  const timesIn = (data: FormData) => Number(entered(data, name));
  const input = { min: "0", max: "100", required: true, autofocus: true };
  return {
    scope: "robots:write",
    word: "Allow recovery",
    title: `Let ${robot.name} recover?`,
    verb: "Allow",
    body: (
      <p>
        A robot that was off while its credential expired renews it when it is back. This says how often, and starts the
        time for it now. The robot tries by itself, within minutes.
      </p>
    ),
    initial: { [name]: "5" },
    useForm: () => ({ fields: [{ name, label: "How often", kind: "number", input }] }),
    requestOf: (data) => ({ method: "PATCH", path: installationPath(robot), body: { [name]: timesIn(data) } }),
    topics: ["robots"],
    made: (_answer, data) => ({ said: `${robot.name} may recover ${counted(timesIn(data), "time")}.` }),
  };
}
