import { mayDo } from "../data/session.ts";
import { PendingValue } from "../parts/pending-value.tsx";
import { DigestChip } from "../parts/digest-chip.tsx";
import { Icon } from "../parts/icon.tsx";
import { Labels } from "../parts/labels.tsx";
import { Page } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import type { Column } from "../parts/table/column.ts";
import { DataTable } from "../parts/table/data-table.tsx";
import { EmptyState } from "../parts/table/empty-state.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { number } from "../parts/text.ts";
import type { RegisteredRobot } from "./data.ts";
import { robotPath, useRobots } from "./data.ts";

const FILTERING: Filtering<RegisteredRobot> = {
  filters: [
    { id: "site", label: "Site", valuesOf: ({ site }) => (site === null ? [] : [site]) },
    { id: "type", label: "Type", valuesOf: ({ robot_type_id: robotTypeId }) => [robotTypeId] },
    { id: "region", label: "Region", valuesOf: ({ region }) => [region] },
    { id: "label", label: "Label", valuesOf: ({ labels }) => labelTexts(labels) },
    {
      id: "registration",
      label: "Registration",
      valuesOf: ({ contestedSince }) => (contestedSince === null ? [] : ["contested"]),
    },
  ],
  textOf: ({ name, id, robot_type_id: robotTypeId, region, site, labels, configurationDigest }) =>
    [name, id, robotTypeId, region, site ?? "", ...labelTexts(labels), configurationDigest ?? ""].join(" "),
};

/** `/robots`: all registered robots. */
export function Robots() {
  const robots = useRobots();
  const list = robots.state === "ready" ? robots.value : NO_ROBOTS;
  const count = robots.state === "ready" ? number(list.length) : undefined;
  return (
    <Page title="Robots" count={count}>
      <DataTable
        data={robots}
        empty={<NoRobots />}
        caption="Robots"
        noun="robot"
        columns={COLUMNS}
        rows={list}
        keyOf={({ id }) => id}
        hrefOf={({ name, id }) => robotPath(name, id)}
        sort="name"
        cardHeight="6.25rem"
        filtering={FILTERING}
        hint="Name, type, site, label, digest"
      />
    </Page>
  );
}

const NO_ROBOTS: readonly RegisteredRobot[] = [];

const COLUMNS: readonly Column<RegisteredRobot>[] = [
  {
    id: "name",
    name: "Name",
    track: "minmax(9rem, 1.4fr)",
    cell: ({ name, contestedSince }) =>
      contestedSince === null ? (
        name
      ) : (
        <span class="failing" data-tone="degraded" title="Two computers register this name in turn">
          <Icon name="degraded" />
          <span class="cut">{name}</span>
        </span>
      ),
    sortBy: ({ name }) => name,
  },
  {
    id: "site",
    name: "Site",
    track: "minmax(5rem, 0.8fr)",
    cell: ({ site }) => site ?? <span class="muted">–</span>,
    sortBy: ({ site }) => site,
  },
  {
    id: "type",
    name: "Type",
    track: "minmax(10rem, 1.5fr)",
    cell: ({ robot_type_id: robotTypeId }) => <span title={robotTypeId}>{robotTypeId}</span>,
    sortBy: ({ robot_type_id: robotTypeId }) => robotTypeId,
    isWideOnCard: true,
    isPlainOnCard: true,
  },
  {
    id: "region",
    name: "Region",
    track: "minmax(6rem, 0.8fr)",
    from: "medium",
    cell: ({ region }) => region,
    sortBy: ({ region }) => region,
  },
  {
    id: "labels",
    name: "Labels",
    track: "minmax(8rem, 1.6fr)",
    from: "wide",
    cell: ({ labels }) => <Labels labels={labels} />,
  },
  {
    id: "digest",
    name: "Digest",
    track: "9.5rem",
    from: "medium",
    cell: ({ configurationDigest }) => (
      <PendingValue value={configurationDigest}>{(digest) => <DigestChip digest={digest} isInList />}</PendingValue>
    ),
    sortBy: ({ configurationDigest }) => configurationDigest ?? null,
  },
  {
    id: "changed",
    name: "Changed",
    track: "7rem",
    cell: ({ changedAt }) => <PendingValue value={changedAt}>{(at) => <RelativeTime at={at} />}</PendingValue>,
    sortBy: ({ changedAt }) => (typeof changedAt === "string" ? Date.parse(changedAt) : null),
    first: "down",
  },
  {
    id: "created",
    name: "First registered",
    track: "8rem",
    from: "wide",
    cell: ({ created_at: createdAt }) => <RelativeTime at={createdAt} />,
    sortBy: ({ created_at: createdAt }) => Date.parse(createdAt),
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

function NoRobots() {
  return (
    <EmptyState title="No robot is registered yet">
      <p>
        A robot registers itself: install <code>robot-policy-agent</code> on its computer, give it the address of this
        service and a key, and run <code>robot-policy-agent --setup</code>.
      </p>
      <p>
        The address is <code>{location.origin}</code>.
        {mayDo("api-keys:write") ? (
          <>
            {" "}
            Create a key for it that may set up robots and nothing else under <a href="/keys">Keys</a>.
          </>
        ) : null}
      </p>
    </EmptyState>
  );
}

function labelTexts(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}
