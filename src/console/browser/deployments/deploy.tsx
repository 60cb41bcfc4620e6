/** Deploys a model to a robot, from the pages of deployments, robots and models, and what those pages know of deployments. */
import type * as z from "zod";

import type { deploymentListSchema, DeploymentView } from "../../../api/deployments.ts";
import { currentOn, replacementConsequence } from "../../../views/deployments.ts";
import { type Data, useData } from "../data/query.ts";
import { serviceNow } from "../data/request.ts";
import { mayDo } from "../data/session.ts";
import { Preview } from "../fleets/preview.tsx";
import { useSubjectField } from "../models/catalog.tsx";
import type { Change } from "../parts/form/change.tsx";
import { entered, type FieldSpec } from "../parts/form/fields.tsx";
import { useRobotViews } from "../robots/data.ts";

type Deployments = Data<z.output<typeof deploymentListSchema>>;

export function useCurrentDeployments(): Deployments {
  return useData("/v1/me/deployments?current=true", ["deployments"]);
}

/** Also retired ones, which the service keeps for ever. */
export function useAllDeployments(isWanted: boolean): Deployments {
  return useData(isWanted ? "/v1/me/deployments" : null, ["deployments"]);
}

/** A list of the robot's current deployment, if it has one. */
export function useDeploymentOf(robotId: string | null): Deployments {
  const query = new URLSearchParams({ current: "true", robot_id: robotId ?? "" });
  return useData(robotId === null ? null : `/v1/me/deployments?${query.toString()}`, ["deployments"]);
}

/** The list, with the row of the deployment opened. */
export function deploymentPath(id: string): string {
  return `/deployments?${new URLSearchParams({ open: id }).toString()}`;
}

/** Most robot names that the field suggests. */
const OFFERED_MAXIMUM = 2000;

/**
 * Deploys a model to a robot; shows beforehand whether the robot can run it, and what it runs now.
 *
 * @param chosen slug of the model or name of the robot that is chosen already.
 */
export function deployment(chosen: { readonly model?: string; readonly robot?: string }): Change<DeploymentView> {
  return {
    scope: "deployments:write",
    word: "Deploy",
    title: "Deploy a model to a robot",
    initial: chosen,
    useForm(data) {
      const subject = useSubjectField("model");
      const robots = useRobotViews().value ?? [];
      const robot: FieldSpec = {
        name: "robot",
        label: "Robot",
        hint: "Its name or id.",
        options: robots.slice(0, OFFERED_MAXIMUM).map(({ name }) => ({ value: name, word: name })),
        input: { autofocus: true, required: true },
      };
      return { fields: [robot, subject], below: <Prospect {...bodyOf(data)} /> };
    },
    requestOf: (data) => ({ method: "POST", path: "/v1/me/deployments", body: bodyOf(data) }),
    topics: ["deployments", "fleets", "usage"],
    made({ id, status }, data) {
      const { robot, model } = bodyOf(data);
      const said = status === "active" ? `${robot} runs ${model}.` : `${model} is being made ready for ${robot}.`;
      return { said, next: deploymentPath(id) };
    },
  };
}

function bodyOf(data: FormData) {
  return { model: entered(data, "model"), robot: entered(data, "robot") };
}

interface ProspectProps {
  readonly robot: string;
  readonly model: string;
}

/** Whether the robot can run the model, and what the deployment replaces. Its space is reserved. */
function Prospect({ robot, model }: ProspectProps) {
  const isAsked = robot !== "" && model !== "" && mayDo("robots:read");
  const replaced = currentOn(robot, useCurrentDeployments().value?.items ?? []);
  return (
    <div class="prospect">
      <Preview body={isAsked ? { robots: [robot], subject: model } : null} />
      {replaced === undefined ? null : <p role="status">{replacementConsequence(replaced, serviceNow())}</p>}
    </div>
  );
}
