import { useMemo, useState } from "preact/hooks";

import type { DeploymentView } from "../../../api/deployments.ts";
import { failureOf } from "../../../api/words/deployment-failures.ts";
import { mayDo } from "../data/session.ts";
import { Icon } from "../parts/icon.tsx";
import { Page } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import type { Column } from "../parts/table/column.ts";
import { DataTable } from "../parts/table/data-table.tsx";
import { EmptyState } from "../parts/table/empty-state.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import type { Archive } from "../parts/table/archive-table.tsx";
import { deploymentPath, isCurrent, severityOf, useDeployments } from "./data.ts";
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

const RETIRED: Archive<DeploymentView> = { word: "retired", contains: (deployment) => !isCurrent(deployment) };

/** `/deployments`: current deployments, failed ones first; `?show=retired`: the retired ones. */
export function Deployments() {
  const deployments = useDeployments();
  const [isDeploying, setDeploying] = useState(false);
  const items = deployments.state === "ready" ? deployments.value.items : undefined;
  const rows = useMemo(() => newestFirst(items ?? []), [items]);
  const deploy = mayDo("deployments:write") ? (
    <button type="button" class="button button-main" onClick={() => setDeploying(true)}>
      <Icon name="plus" />
      Deploy
    </button>
  ) : undefined;
  return (
    <Page title="Deployments" actions={deploy}>
      <DataTable
        data={deployments}
        empty={<NoDeployments />}
        archive={RETIRED}
        caption="Deployments"
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
      {isDeploying ? <DeployDialog close={() => setDeploying(false)} /> : null}
    </Page>
  );
}

function NoDeployments() {
  return (
    <EmptyState title="Nothing is deployed yet">
      <p>
        A deployment runs one model on one robot. Robots of a fleet are ready without one. To start a robot, create its
        deployment here or with <code>robot-policy deploy MODEL --robot NAME</code>.
      </p>
    </EmptyState>
  );
}

const COLUMNS: readonly Column<DeploymentView>[] = [
  {
    id: "robot",
    name: "Robot",
    track: "minmax(9rem, 1.2fr)",
    cell: ({ robot, robot_id: robotId, id }) => robot ?? robotId ?? id,
    sortBy: ({ robot }) => robot ?? null,
  },
  {
    id: "state",
    name: "State",
    track: "8.25rem",
    isPlainOnCard: true,
    cell: ({ status }) => <StatusBadge status={status} />,
    sortBy: severityOf,
  },
  {
    id: "model",
    name: "Model",
    track: "minmax(8rem, 1fr)",
    cell: ({ model }) => model ?? <span class="muted">–</span>,
    sortBy: ({ model }) => model ?? null,
  },
  {
    id: "checkpoint",
    name: "Checkpoint",
    track: "minmax(10rem, 1.2fr)",
    from: "wide",
    cell: ({ subject_id: subjectId }) => subjectId ?? <span class="muted">–</span>,
    sortBy: ({ subject_id: subjectId }) => subjectId ?? null,
  },
  {
    id: "reason",
    name: "Reason",
    track: "minmax(10rem, 2fr)",
    isWideOnCard: true,
    isPlainOnCard: true,
    cell: (deployment) => <Reason text={failureOf(deployment)?.what ?? null} />,
  },
  {
    id: "region",
    name: "Region",
    track: "minmax(7rem, 0.8fr)",
    cell: ({ region }) => region ?? <span class="muted">–</span>,
    sortBy: ({ region }) => region ?? null,
  },
  {
    id: "created",
    name: "Created",
    track: "7rem",
    cell: ({ created_at: createdAt }) => <RelativeTime at={createdAt} />,
    sortBy: ({ created_at: createdAt }) => momentOf(createdAt),
    first: "down",
  },
  {
    id: "retired",
    name: "Retired",
    track: "7rem",
    from: "medium",
    cell: ({ retired_at: retiredAt }) => <RelativeTime at={retiredAt} />,
    sortBy: ({ retired_at: retiredAt }) => momentOf(retiredAt),
    first: "down",
  },
  {
    id: "id",
    name: "Id",
    track: "17rem",
    from: "wall",
    cell: ({ id }) => <span class="mono over">{id}</span>,
  },
];

function Reason({ text }: { readonly text: string | null }) {
  return text === null ? null : <span title={text}>{text}</span>;
}

function newestFirst(deployments: readonly DeploymentView[]): readonly DeploymentView[] {
  return [...deployments].sort((left, right) => (momentOf(right.created_at) ?? 0) - (momentOf(left.created_at) ?? 0));
}

function momentOf(at: string | null | undefined): number | null {
  return at === null || at === undefined ? null : Date.parse(at);
}

function present(value: string | null | undefined): readonly string[] {
  return value === null || value === undefined ? [] : [value];
}
