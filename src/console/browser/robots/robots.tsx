import { ROBOT_TEXT_NAMES } from "../../../api/robot-texts.ts";
import { mayDo } from "../data/session.ts";
import { PendingValue } from "../parts/pending-value.tsx";
import { DigestChip } from "../parts/copy-button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Labels } from "../parts/labels.tsx";
import { Page } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import type { Column } from "../parts/table/columns.tsx";
import { textColumn, timeColumn } from "../parts/table/columns.tsx";
import { DataTable } from "../parts/table/data-table.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { capitalized, number, present, withSpaces } from "../parts/text.ts";
import type { RegisteredRobot } from "./data.ts";
import { presenceOf, robotPath, useRobots } from "./data.ts";
import { Presence } from "./presence.tsx";

const FILTERING: Filtering<RegisteredRobot> = {
  filters: [
    ...ROBOT_TEXT_NAMES.map((text) => ({
      id: text,
      label: capitalized(withSpaces(text)),
      valuesOf: (robot: RegisteredRobot) => present(robot[text]),
    })),
    { id: "status", label: "Status", valuesOf: (robot: RegisteredRobot) => present(presenceOf(robot)) },
    { id: "type", label: "Type", valuesOf: ({ robot_type_id: robotTypeId }) => [robotTypeId] },
    { id: "region", label: "Region", valuesOf: ({ region }) => [region] },
    { id: "label", label: "Label", valuesOf: ({ labels }) => labelTexts(labels) },
    {
      id: "registration",
      label: "Registration",
      isRare: true,
      valuesOf: ({ contestedSince }) => (contestedSince === null ? [] : ["contested"]),
    },
  ],
  textOf: (robot) => {
    const { name, id, robot_type_id: robotTypeId, region, labels, configurationDigest } = robot;
    const texts = ROBOT_TEXT_NAMES.map((text) => robot[text]);
    return [name, id, robotTypeId, region, ...texts, ...labelTexts(labels), configurationDigest].join(" ");
  },
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
        emptyTitle="No robot is registered yet"
        empty={<NoRobots />}
        noun="robot"
        columns={COLUMNS}
        rows={list}
        keyOf={({ id }) => id}
        hrefOf={({ name, id }) => robotPath(name, id)}
        sort="name"
        cardHeight="9.125rem"
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
    id: "status",
    name: "Status",
    track: "minmax(6.25rem, 0.7fr)",
    isPlainOnCard: true,
    cell: (robot) => <Presence robot={robot} />,
    sortBy: (robot) => presenceOf(robot),
  },
  textColumn({ id: "site", name: "Site", track: "minmax(5rem, 0.8fr)" }, ({ site }) => site),
  {
    id: "type",
    name: "Type",
    track: "minmax(10rem, 1.5fr)",
    cell: ({ robot_type_id: robotTypeId }) => <span title={robotTypeId}>{robotTypeId}</span>,
    sortBy: ({ robot_type_id: robotTypeId }) => robotTypeId,
    isWideOnCard: true,
    isPlainOnCard: true,
  },
  textColumn({ id: "region", name: "Region", track: "minmax(6rem, 0.8fr)", from: "medium" }, ({ region }) => region),
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
    track: "8.75rem",
    from: "medium",
    cell: ({ configurationDigest }) => (
      <PendingValue value={configurationDigest}>{(digest) => <DigestChip digest={digest} isInList />}</PendingValue>
    ),
    sortBy: ({ configurationDigest }) => configurationDigest ?? null,
  },
  timeColumn(
    {
      id: "changed",
      name: "Changed",
      track: "7rem",
      cell: ({ changedAt }) => <PendingValue value={changedAt}>{(at) => <RelativeTime at={at} />}</PendingValue>,
    },
    ({ changedAt }) => changedAt,
  ),
  timeColumn(
    { id: "created", name: "First registered", track: "8rem", from: "wide" },
    ({ created_at: createdAt }) => createdAt,
  ),
  { id: "id", name: "Id", track: "17rem", from: "wall", cell: ({ id }) => <span class="mono over">{id}</span> },
];

function NoRobots() {
  return (
    <>
      <p>
        A robot registers itself: install <code>robot-policy-agent</code> on its computer and run{" "}
        <code>sudo robot-policy-agent init</code>, which asks for the address of this service and how the robot signs
        in: with a code that you approve under <a href="/enrolments">Enrolments</a>, or with a key.
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
    </>
  );
}

function labelTexts(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}
