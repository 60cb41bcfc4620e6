import { useMemo, useState } from "preact/hooks";

import type { DeploymentView } from "../../../api/deployments.ts";
import { failureOf } from "../../../api/words/deployment-failures.ts";
import { mayDo } from "../data/session.ts";
import { useData } from "../data/query.ts";
import { modelPath, useEndpoints } from "../models/catalog.tsx";
import { CopyableText } from "../parts/copy-button.tsx";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { Dialog } from "../parts/form/dialog.tsx";
import { ChangeDialog } from "../parts/form/form-dialog.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Facts } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { badgeColumn, type Column, newestFirst, textColumn, timeColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { present } from "../parts/text.ts";
import { robotPath } from "../robots/data.ts";
import { setParameter, useLocation } from "../router.ts";
import { DeployDialog, deploymentPath, useAllDeployments, useCurrentDeployments } from "./deploy.tsx";

const COLUMNS: readonly Column<DeploymentView>[] = [
  textColumn(
    { id: "robot", name: "Robot", track: "minmax(7.5rem, 1.2fr)", cell: (row) => <RowLink deployment={row} /> },
    robotOf,
  ),
  badgeColumn({ track: "7rem", sortBy: severityOf }, ({ status }) => status),
  textColumn({ id: "model", name: "Model", track: "minmax(5rem, 1fr)" }, ({ model }) => model),
  textColumn(
    { id: "checkpoint", name: "Checkpoint", track: "minmax(10rem, 1.2fr)", from: "wide" },
    (row) => row.subject_id,
  ),
  {
    id: "reason",
    name: "Reason",
    track: "minmax(7.25rem, 2fr)",
    cell: (deployment) => failureOf(deployment)?.what,
  },
  textColumn({ id: "region", name: "Region", track: "minmax(6rem, 0.8fr)" }, ({ region }) => region),
  timeColumn({ id: "created", name: "Created", track: "7rem" }, (deployment) => deployment.created_at),
  timeColumn({ id: "retired", name: "Retired", track: "7rem", from: "medium" }, (deployment) => deployment.retired_at),
];

const FILTERING: Filtering<DeploymentView> = {
  filters: [
    { id: "state", label: "State", valuesOf: ({ status }) => [status] },
    { id: "model", label: "Model", valuesOf: ({ model }) => present(model) },
    { id: "robot", label: "Robot", valuesOf: ({ robot }) => present(robot) },
    { id: "region", label: "Region", valuesOf: ({ region }) => present(region) },
  ],
  textOf: ({ id, status, model, subject_id: subjectId, robot, region, last_error_code: lastErrorCode }) =>
    [id, status, model, subjectId, robot, region, lastErrorCode].filter(Boolean).join(" "),
};

const RETIRED = { word: "retired", contains: (deployment: DeploymentView) => !isCurrent(deployment) };

/** Whether it is its robot's current deployment. A failed one is: it becomes active again when its cause is fixed. */
function isCurrent({ status }: DeploymentView): boolean {
  return status !== "retired";
}

/** States, most urgent first. */
const SEVERITY: readonly string[] = ["failed", "preparing", "active", "retired"];

function severityOf({ status }: DeploymentView): number {
  return SEVERITY.indexOf(status);
}

/** `/deployments`: current deployments, failed ones first; `?show=retired`: the retired ones; `?open=ID`: a row opened. */
export function Deployments() {
  const { query } = useLocation();
  const opened = query.get("open");
  const isPastShown = query.get("show") === RETIRED.word;
  const isSought = ["q", ...FILTERING.filters.map(({ id }) => id)].some((name) => query.has(name));
  const current = useCurrentDeployments();
  // To be shown, or to say how many of them match.
  const all = useAllDeployments(isPastShown || isSought);
  const isLoaded = isPastShown || all.state === "ready";
  const deployments = isLoaded ? all : current;
  const items = deployments.value?.items;
  const rows = useMemo(() => newestFirst(items ?? []), [items]);
  const deploy = (
    <DialogButton scope="deployments:write" word="Deploy" kind="main">
      {(close) => <DeployDialog close={close} />}
    </DialogButton>
  );
  return (
    <ListPage
      title="Deployments"
      actions={deploy}
      data={deployments}
      emptyTitle="Nothing is deployed"
      empty={
        <p>
          A deployment runs one model on one robot. Robots of a fleet are ready without one. To start a robot, create
          its deployment here or with <code>robot-policy deploy MODEL --robot NAME</code>.
        </p>
      }
      archive={{ ...RETIRED, isLoaded }}
      noun="deployment"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ id }) => id}
      sort="state"
      filtering={FILTERING}
      hint="Robot, model, checkpoint, id"
    >
      {opened === null ? null : <Opened key={opened} id={opened} close={() => setParameter("open", "")} />}
    </ListPage>
  );
}

/** Opens the row in place: filters and the place on the page stay. */
function RowLink({ deployment }: DeploymentProps) {
  const { id } = deployment;
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    // A history entry of its own, so that Back closes it.
    history.pushState(null, "", location.href);
    setParameter("open", id);
  };
  return (
    <a class="row-link" href={deploymentPath(id)} onClick={open}>
      {robotOf(deployment)}
    </a>
  );
}

function robotOf({ id, robot, robot_id: robotId }: DeploymentView): string {
  return robot ?? robotId ?? id;
}

interface OpenedProps {
  readonly id: string;
  close(): void;
}

/** One deployment: why it failed, its facts, and the button to retire it. */
function Opened({ id, close }: OpenedProps) {
  const deployment = useData<DeploymentView>(`/v1/me/deployments/${encodeURIComponent(id)}`, ["deployments"]);
  const [isRetiring, setRetiring] = useState(false);
  const { value } = deployment;
  if (isRetiring && value !== undefined) return <Retire deployment={value} close={() => setRetiring(false)} />;
  return (
    <Dialog title={value === undefined ? "Deployment" : titleOf(value)} close={close}>
      <Loaded data={deployment} what="this deployment" missing={<p>This organization has no such deployment.</p>}>
        {(known) => <DeploymentFacts deployment={known} />}
      </Loaded>
      <div class="buttons">
        {/* First: the second of two clicks must not confirm in the dialog that asks. */}
        {value !== undefined && isCurrent(value) && mayDo("deployments:write") ? (
          <button type="button" class="button button-danger" onClick={() => setRetiring(true)}>
            Retire
          </button>
        ) : null}
        <button type="button" class="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

interface DeploymentProps {
  readonly deployment: DeploymentView;
}

function titleOf({ model, robot, robot_id: robotId }: DeploymentView): string {
  return `${model ?? "A model"} on ${robot ?? robotId ?? "a robot"}`;
}

function DeploymentFacts({ deployment }: DeploymentProps) {
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
          ["State", <StatusBadge status={deployment.status} />],
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
function EndpointFailure({ deployment: { subject_id: subjectId, region } }: DeploymentProps) {
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

interface RetireProps extends DeploymentProps {
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
