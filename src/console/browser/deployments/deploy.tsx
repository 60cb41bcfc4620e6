/** Deploys a model to a robot, from the pages of deployments, robots and models, and what those pages know of deployments. */
import type * as z from "zod";

import type { deploymentListSchema, DeploymentView } from "../../../api/deployments.ts";
import { currentOn, replacementConsequence } from "../../../views/deployments.ts";
import { type Data, useData } from "../data/query.ts";
import { serviceNow } from "../data/request.ts";
import { mayDo } from "../data/session.ts";
import { PreviewList, usePreview } from "../fleets/preview.tsx";
import { useSubjectField } from "../models/catalog.tsx";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";
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

/** Most robot names that the field suggests. */
const OFFERED_MAXIMUM = 2000;

/** Deploys a model to a robot; shows beforehand whether the robot can run it, and what it runs now. */
export function DeployDialog({ model = "", robot = "", close }: DeployDialogProps) {
  const subject = useSubjectField("model");
  const robots = useRobotViews().value ?? [];
  const robotField: FieldSpec = {
    name: "robot",
    label: "Robot",
    hint: "Its name or id.",
    options: robots.slice(0, OFFERED_MAXIMUM).map(({ name }) => ({ value: name, word: name })),
    input: { autofocus: true, required: true },
  };
  const bodyOf = (data: FormData) => ({ model: entered(data, "model"), robot: entered(data, "robot") });
  const end = ({ id, status }: DeploymentView, data: FormData) => {
    const body = bodyOf(data);
    close();
    showToast(
      status === "active"
        ? `${body.robot} runs ${body.model}.`
        : `${body.model} is being made ready for ${body.robot}.`,
    );
    navigate(deploymentPath(id));
  };
  return (
    <FormDialog<DeploymentView>
      title="Deploy a model to a robot"
      verb="Deploy"
      initial={{ model, robot }}
      fields={() => [robotField, subject]}
      requestOf={(data) => ({ method: "POST", path: "/v1/me/deployments", body: bodyOf(data) })}
      topics={["deployments", "fleets", "usage"]}
      done={end}
      close={close}
      below={(data) => <Prospect {...bodyOf(data)} />}
    />
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
  const replaced = currentOn(robot, useCurrentDeployments().value?.items ?? []);
  return (
    <div class="prospect">
      <PreviewList preview={preview} />
      {replaced === undefined ? null : <p role="status">{replacementConsequence(replaced, serviceNow())}</p>}
    </div>
  );
}
