import { useMemo } from "preact/hooks";

import type { DeploymentView } from "../../../api/deployments.ts";
import {
  currentFailure,
  DEPLOYMENTS,
  deploymentName,
  failingEndpoint,
  isCurrent,
  retirementConsequences,
} from "../../../views/deployments.ts";
import { serviceNow } from "../data/request.ts";
import { mayDo } from "../data/session.ts";
import { useData } from "../data/query.ts";
import { useEndpoints } from "../models/catalog.tsx";
import { type Change, ChangeButton } from "../parts/form/change.tsx";
import { Dialog } from "../parts/form/dialog.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { ShownFacts } from "../parts/shown.tsx";
import { newestFirst } from "../parts/table/columns.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { setParameter, useLocation } from "../router.ts";
import { deployment, deploymentPath, useAllDeployments, useCurrentDeployments } from "./deploy.tsx";

const CELLS = { robot: (row: DeploymentView) => <RowLink deployment={row} /> };

const RETIRED = { word: "retired", contains: (deployment: DeploymentView) => !isCurrent(deployment) };

/** `/deployments`: current deployments, failed ones first; `?show=retired`: the retired ones; `?open=ID`: a row opened. */
export function Deployments() {
  const { query } = useLocation();
  const opened = query.get("open");
  const isPastShown = query.get("show") === RETIRED.word;
  const current = useCurrentDeployments();
  const all = useAllDeployments(isPastShown);
  const deployments = isPastShown ? all : current;
  const items = deployments.value?.items;
  const rows = useMemo(() => newestFirst(items ?? []), [items]);
  return (
    <ListPage
      view={DEPLOYMENTS}
      cells={CELLS}
      data={deployments}
      rows={rows}
      archive={RETIRED}
      keyOf={({ id }) => id}
      sort="status"
      actions={<ChangeButton change={{ ...deployment({}), kind: "main" }} />}
      empty={
        <p>
          A deployment runs one model on one robot. Robots of a fleet are ready without one. To start a robot, create
          its deployment here or with <code>robot-policy deploy MODEL --robot NAME</code>.
        </p>
      }
    >
      {opened === null ? null : <Opened key={opened} id={opened} close={() => setParameter("open", "")} />}
    </ListPage>
  );
}

/** Opens the row in place: filters and the place on the page stay. */
function RowLink({ deployment }: DeploymentProps) {
  const { id, robot, robot_id: robotId } = deployment;
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    // A history entry of its own, so that Back closes it.
    history.pushState(null, "", location.href);
    setParameter("open", id);
  };
  return (
    <a class="row-link" href={deploymentPath(id)} onClick={open}>
      {robot ?? robotId ?? id}
    </a>
  );
}

interface OpenedProps {
  readonly id: string;
  close(): void;
}

/** One deployment: why it failed, its facts, and the button to retire it. */
function Opened({ id, close }: OpenedProps) {
  const opened = useData<DeploymentView>(apiPath(id), ["deployments"]);
  const { value } = opened;
  return (
    <Dialog title={value === undefined ? "Deployment" : deploymentName(value)} close={close}>
      <Loaded data={opened} what="this deployment" missing={<p>This organization has no such deployment.</p>}>
        {(known) => <DeploymentFacts deployment={known} />}
      </Loaded>
      <div class="buttons">
        {/* First: the second of two clicks must not confirm in the dialog that asks. */}
        {value !== undefined && isCurrent(value) ? <ChangeButton change={retirement(value)} /> : null}
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

/** The notice has the reason and the remedy. */
function DeploymentFacts({ deployment }: DeploymentProps) {
  const failure = currentFailure(deployment);
  return (
    <>
      {failure === null ? null : (
        <Notice tone="blocked" title="The robot is not served.">
          <p>
            {failure.what} {failure.remedy}
          </p>
          {mayDo("models:read") ? <EndpointFailure deployment={deployment} /> : null}
        </Notice>
      )}
      <ShownFacts facts={DEPLOYMENTS.factsOf(deployment).filter(([name]) => name !== "reason" && name !== "remedy")} />
    </>
  );
}

/** Why the deployment's endpoint fails, if it does. */
function EndpointFailure({ deployment }: DeploymentProps) {
  const own = failingEndpoint(deployment, useEndpoints().value?.items ?? []);
  if (own === undefined) return null;
  return (
    <p>
      The endpoint in {own.region} became unhealthy <RelativeTime at={own.since} />
      {own.detail === null ? "" : `: ${own.detail}`}.
    </p>
  );
}

function retirement(retired: DeploymentView): Change {
  const name = deploymentName(retired);
  return {
    scope: "deployments:write",
    word: "Retire",
    kind: "danger",
    title: `Retire ${name}?`,
    body: <p>{retirementConsequences(retired, serviceNow()).join(" ")}</p>,
    requestOf: () => ({ method: "DELETE", path: apiPath(retired.id) }),
    topics: ["deployments", "fleets", "usage"],
    made: () => ({ said: `${name} is retired.` }),
  };
}

function apiPath(id: string): string {
  return `/v1/me/deployments/${encodeURIComponent(id)}`;
}
