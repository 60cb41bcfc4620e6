/** Deploys a model to a robot, from the pages of deployments, robots and models, and what those pages know of deployments. */
import { useId, useState } from "preact/hooks";
import type * as z from "zod";

import type { deploymentListSchema, DeploymentView } from "../../../api/deployments.ts";
import { type Data, invalidate, useData } from "../data/query.ts";
import { mayDo } from "../data/session.ts";
import { useWrite } from "../data/write.ts";
import { PreviewList, usePreview } from "../fleets/preview.tsx";
import { SubjectField } from "../models/catalog.tsx";
import { TextField } from "../parts/form/fields.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";
import { useFormErrors } from "../parts/form/form-errors.ts";
import { showToast } from "../parts/toast.tsx";
import { useRobotViews } from "../robots/data.ts";
import { navigate } from "../router.ts";

type Deployments = Data<z.output<typeof deploymentListSchema>>;

export function useCurrentDeployments(): Deployments {
  return useData("/v1/me/deployments?current=true", ["deployments"]);
}

/** Also retired ones, which the service keeps for ever. */
export function useAllDeployments(isWanted: boolean): Deployments {
  return useData(isWanted ? "/v1/me/deployments" : null, ["deployments"]);
}

/** A list of the robot's current deployment, if it has one. */
export function useDeploymentOf(robotId: string): Deployments {
  return useData(`/v1/me/deployments?current=true&robot_id=${encodeURIComponent(robotId)}`, ["deployments"]);
}

/** The list, with the row of the deployment opened. */
export function deploymentPath(id: string): string {
  return `/deployments?${new URLSearchParams({ open: id }).toString()}`;
}

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

/** Whether the robot can run the model, and what the deployment replaces. Its space is reserved. */
function Prospect({ robot, model }: ProspectProps) {
  const isAsked = robot !== "" && model !== "" && mayDo("robots:read");
  const preview = usePreview(isAsked ? { robots: [robot], subject: model } : null);
  const replaced = useReplaced(robot);
  return (
    <div class="prospect">
      <PreviewList preview={preview} />
      {replaced === undefined ? null : (
        <p role="status">
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
