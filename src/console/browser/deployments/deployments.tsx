import { useMemo } from "preact/hooks";

import type { DeploymentView } from "../../../api/deployments.ts";
import { failureOf } from "../../../api/words/deployment-failures.ts";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { badgeColumn, type Column, ID_COLUMN, newestFirst, textColumn, timeColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { present } from "../parts/text.ts";
import { deploymentPath, isCurrent, severityOf, useAllDeployments, useCurrentDeployments } from "./data.ts";
import { useLocation } from "../router.ts";
import { DeployDialog } from "./new.tsx";

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

/** `/deployments`: current deployments, failed ones first; `?show=retired`: the retired ones. */
export function Deployments() {
  const { query } = useLocation();
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
      hrefOf={({ id }) => deploymentPath(id)}
      sort="state"
      cardHeight="8.5rem"
      filtering={FILTERING}
      hint="Robot, model, checkpoint, id"
    />
  );
}

const COLUMNS: readonly Column<DeploymentView>[] = [
  textColumn(
    { id: "robot", name: "Robot", track: "minmax(7.5rem, 1.2fr)" },
    (row) => row.robot ?? row.robot_id ?? row.id,
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
    isWideOnCard: true,
    isPlainOnCard: true,
    cell: (deployment) => failureOf(deployment)?.what,
  },
  textColumn({ id: "region", name: "Region", track: "minmax(6rem, 0.8fr)" }, ({ region }) => region),
  timeColumn({ id: "created", name: "Created", track: "7rem" }, (deployment) => deployment.created_at),
  timeColumn({ id: "retired", name: "Retired", track: "7rem", from: "medium" }, (deployment) => deployment.retired_at),
  ID_COLUMN,
];
