import type { DeploymentView } from "../../../api/deployments.ts";
import { failureOf } from "../../../api/words/deployment-failures.ts";
import { mayDo } from "../data/session.ts";
import { useData } from "../data/use-data.ts";
import { modelPath, useEndpoints } from "../models/data.ts";
import { CopyableText } from "../parts/copy-button.tsx";
import { ChangeDialog } from "../parts/form/form-dialog.tsx";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { Notice } from "../parts/notice.tsx";
import { Facts } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { robotPath } from "../robots/data.ts";
import type { PageParameters } from "../router.ts";
import { isCurrent } from "./data.ts";

/** `/deployments/ID`: one deployment, with its state and the button to retire it. */
export function Deployment({ name: id }: PageParameters) {
  const path = `/v1/me/deployments/${encodeURIComponent(id)}`;
  const deployment = useData<DeploymentView>(path, ["deployments"]);
  return (
    <ResourcePage
      data={deployment}
      section="deployments"
      noun="deployment"
      titleOf={titleOf}
      badgeOf={({ status }) => <StatusBadge status={status} />}
      actionsOf={(known) =>
        isCurrent(known) ? (
          <DialogButton scope="deployments:write" word="Retire" kind="danger">
            {(close) => <Retire deployment={known} close={close} />}
          </DialogButton>
        ) : null
      }
      lines={6}
    >
      {(known) => <DeploymentFacts deployment={known} />}
    </ResourcePage>
  );
}

function titleOf({ model, robot, robot_id: robotId }: DeploymentView): string {
  return `${model ?? "A model"} on ${robot ?? robotId ?? "a robot"}`;
}

function DeploymentFacts({ deployment }: { readonly deployment: DeploymentView }) {
  const { id, robot, robot_id: robotId, model, endpoint_url: endpointUrl } = deployment;
  const failure = failureOf(deployment);
  return (
    <>
      {failure === null || !isCurrent(deployment) ? null : (
        <Notice tone="blocked" title="The robot is not served.">
          <p>
            {failure.what} {failure.remedy}
          </p>
          {mayDo("models:read") ? <EndpointFailure deployment={deployment} /> : null}
        </Notice>
      )}
      <Facts
        facts={[
          ["Robot", <a href={robotPath(robot ?? robotId ?? "", robotId ?? "")}>{robot ?? robotId}</a>],
          ["Model", model === null || model === undefined ? null : <a href={modelPath(model)}>{model}</a>],
          ["Checkpoint", deployment.subject_id],
          ["Region", deployment.region],
          ["Created", <RelativeTime at={deployment.created_at} />],
          ["Became active", <RelativeTime at={deployment.activated_at} />],
          ["Retired", <RelativeTime at={deployment.retired_at} />],
          [
            "Last error",
            failure === null ? null : <span title={deployment.last_error_code ?? ""}>{failure.what}</span>,
          ],
          [
            "Endpoint",
            endpointUrl === null || endpointUrl === undefined ? null : (
              <CopyableText text={endpointUrl} what="endpoint" />
            ),
          ],
          ["Generation", deployment.active_generation_id],
          ["Id", <CopyableText text={id} what="id" />],
        ]}
      />
    </>
  );
}

/** Why the deployment's endpoint fails, if it does. */
function EndpointFailure({ deployment: { subject_id: subjectId, region } }: { readonly deployment: DeploymentView }) {
  const endpoints = useEndpoints().value?.items ?? [];
  const own = endpoints.find((each) => each.checkpoint_id === subjectId && each.region === region);
  if (own === undefined || own.status !== "unhealthy") return null;
  return (
    <p>
      The endpoint in {own.region} became unhealthy <RelativeTime at={own.since} />
      {own.detail === null ? "" : `: ${own.detail}`}.
    </p>
  );
}

interface RetireProps {
  readonly deployment: DeploymentView;
  close(): void;
}

function Retire({ deployment, close }: RetireProps) {
  const { id, robot, model, status } = deployment;
  return (
    <ChangeDialog
      title={`Retire ${titleOf(deployment)}?`}
      verb="Retire"
      isDangerous
      request={{ method: "DELETE", path: `/v1/me/deployments/${encodeURIComponent(id)}` }}
      topics={["deployments", "fleets", "usage"]}
      done={`${titleOf(deployment)} is retired.`}
      close={close}
    >
      <p>
        {status === "active" ? (
          <>
            {model} serves <b>{robot}</b> now and stops as soon as you confirm: stop the robot first.
          </>
        ) : (
          <>
            {model} will not serve <b>{robot}</b>, even after its problem is fixed.
          </>
        )}{" "}
        The robot stays registered. A retired deployment cannot be restored; create a new one instead.
      </p>
    </ChangeDialog>
  );
}
