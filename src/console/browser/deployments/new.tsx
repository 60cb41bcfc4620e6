import { useId, useState } from "preact/hooks";

import type { DeploymentView } from "../../../api/deployments.ts";
import { invalidate } from "../data/cache.ts";
import { mayDo } from "../data/session.ts";
import { useWrite } from "../data/use-write.ts";
import { usePreview } from "../fleets/preview.tsx";
import { SubjectField } from "../models/subject-field.tsx";
import { TextField } from "../parts/form/fields.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";
import { useFormErrors } from "../parts/form/form-errors.ts";
import { Icon } from "../parts/icon.tsx";
import { Sentence } from "../parts/relative-time.tsx";
import { showToast } from "../parts/toast.tsx";
import { useRobotViews } from "../robots/data.ts";
import { navigate } from "../router.ts";
import { deploymentPath, useCurrentDeployments } from "./data.ts";

interface DeployDialogProps {
  /** Slug of the preselected model. */
  readonly model?: string;
  /** Name of the preselected robot. */
  readonly robot?: string;
  close(): void;
}

/** Deploys a model to a robot; shows beforehand whether the robot can run it, and what it runs now. */
export function DeployDialog({ model: firstModel = "", robot: firstRobot = "", close }: DeployDialogProps) {
  const [model, setModel] = useState(firstModel);
  const [robot, setRobot] = useState(firstRobot);
  const { send, isBusy, problem } = useWrite<DeploymentView>();
  const name = robot.trim();
  const errors = useFormErrors({ isBusy, problem }, ["model", "robot"], { model, robot: name });
  const submit = async () => {
    const made = await send("POST", "/v1/me/deployments", { model, robot: name });
    if (made === null) return;
    invalidate(["deployments", "fleets", "usage"]);
    close();
    const { id, status } = made;
    showToast(status === "active" ? `${name} runs ${model}.` : `${model} is being made ready for ${name}.`);
    navigate(deploymentPath(id));
  };
  return (
    <FormDialog
      title="Deploy a model to a robot"
      verb="Deploy"
      isReady={model !== "" && name !== ""}
      isBusy={isBusy}
      errors={errors.rest}
      submit={submit}
      close={close}
    >
      <RobotField value={robot} change={setRobot} error={errors.of("robot")} />
      <SubjectField value={model} change={setModel} error={errors.of("model")} />
      <Prospect robot={name} model={model} />
    </FormDialog>
  );
}

/** Most robot names that the field suggests. */
const OFFERED_MAXIMUM = 2000;

interface RobotFieldProps {
  readonly value: string;
  change(value: string): void;
  readonly error: string | undefined;
}

/** A robot by its name or id, with names as suggestions. */
function RobotField({ value, change, error }: RobotFieldProps) {
  const robots = useRobotViews().value ?? [];
  const list = useId();
  const names = robots.slice(0, OFFERED_MAXIMUM).map(({ name }) => name);
  return (
    <>
      <TextField
        label="Robot"
        hint="Its name or id."
        value={value}
        change={change}
        error={error}
        input={{ autofocus: true, required: true, list }}
      />
      <datalist id={list}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

interface ProspectProps {
  readonly robot: string;
  readonly model: string;
}

/** Whether the robot can run the model, and what the deployment replaces. Its space is reserved, and it is a live region. */
function Prospect({ robot, model }: ProspectProps) {
  const isAsked = robot !== "" && model !== "" && mayDo("robots:read");
  const preview = usePreview(isAsked ? { robots: [robot], subject: model } : null);
  const replaced = useReplaced(robot);
  const judged = preview?.value?.robots[0];
  const isRefused = isAsked && judged?.fits === false;
  return (
    <div class="prospect" role="status">
      {!isAsked || judged === undefined ? null : judged.fits === false ? (
        <p class="prospect-fits" data-tone="blocked">
          <Icon name="blocked" />
          {judged.reason ?? "The robot cannot run it."}
        </p>
      ) : judged.reason === null ? (
        <p class="prospect-fits" data-tone="ready">
          <Icon name="ready" />
          {judged.robot} can run it.
        </p>
      ) : (
        <p class="prospect-fits" data-tone="degraded">
          <Icon name="degraded" />
          <span>
            {judged.robot} would wait. <Sentence text={judged.reason} />
          </span>
        </p>
      )}
      {isAsked && preview?.state === "failed" ? <p class="muted">{preview.problem.detail}</p> : null}
      {replaced === undefined || isRefused ? null : (
        <p>
          {robot} has {replaced.model} now ({replaced.status}); the new deployment retires it.
        </p>
      )}
    </div>
  );
}

function useReplaced(robot: string): DeploymentView | undefined {
  const deployments = useCurrentDeployments();
  if (robot === "") return undefined;
  const isOf = ({ robot: name, robot_id: robotId }: DeploymentView) => name === robot || robotId === robot;
  return deployments.value?.items.find(isOf);
}
