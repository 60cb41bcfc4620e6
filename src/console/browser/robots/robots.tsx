import { ROBOT_TEXT_NAMES } from "../../../api/robot-texts.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { presenceOf } from "../../../api/words/presence.ts";
import { mayDo } from "../data/session.ts";
import { DigestChip } from "../parts/copy-button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Labels } from "../parts/labels.tsx";
import { PendingValue } from "../parts/none.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { type Column, textColumn, timeColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { capitalized, present, withSpaces } from "../parts/text.ts";
import { type RegisteredRobot, robotPath, useRobots } from "./data.ts";

const COLUMNS: readonly Column<RegisteredRobot>[] = [
  {
    id: "name",
    name: "Name",
    track: "minmax(8rem, 1.4fr)",
    cell: ({ name, contestedSince }) =>
      contestedSince === null ? (
        name
      ) : (
        <span class="name-and-mark" data-tone="degraded" title="Two computers register this name in turn">
          <Icon name="degraded" />
          <span class="cut">{name}</span>
        </span>
      ),
    sortBy: ({ name }) => name,
  },
  {
    id: "state",
    name: "State",
    track: "minmax(8.25rem, 0.8fr)",
    cell: (robot) => <Presence robot={robot} />,
    sortBy: (robot) => presenceOf(robot),
  },
  textColumn({ id: "site", name: "Site", track: "minmax(5rem, 0.8fr)" }, ({ site }) => site),
  textColumn({ id: "type", name: "Type", track: "minmax(9rem, 1.5fr)" }, (robot) => robot.robot_type_id),
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
  timeColumn({ id: "created", name: "First registered", track: "8rem", from: "wide" }, ({ created_at: at }) => at),
];

const FILTERING: Filtering<RegisteredRobot> = {
  filters: [
    ...ROBOT_TEXT_NAMES.map((text) => ({
      id: text,
      label: capitalized(withSpaces(text)),
      valuesOf: (robot: RegisteredRobot) => present(robot[text]),
    })),
    {
      id: "state",
      label: "State",
      valuesOf: (robot: RegisteredRobot) => present(presenceOf(robot)),
      wordOf: withSpaces,
    },
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
  return (
    <ListPage
      title="Robots"
      data={robots}
      emptyTitle="No robot is registered yet"
      empty={<NoRobots />}
      noun="robot"
      columns={COLUMNS}
      rows={robots.value}
      keyOf={({ id }) => id}
      hrefOf={({ name, id }) => robotPath(name, id)}
      sort="name"
      filtering={FILTERING}
      hint="Name, type, site, label, digest"
    />
  );
}

/** What is known of a robot: why it cannot register, or since when it is offline. */
function Presence({ robot }: { readonly robot: IdentifiedRobotView }) {
  const { last_seen_at: lastSeenAt, not_ready_reason: reason } = robot;
  const presence = presenceOf(robot);
  if (presence === null) return null;
  // No badge: nothing is known, and often it is every robot.
  if (presence === "not_monitored") return <span class="muted">Not monitored</span>;
  return (
    <>
      <StatusBadge status={presence} />
      {presence !== "offline" || lastSeenAt === null ? null : (
        <span class="second-line">
          <RelativeTime at={lastSeenAt} />
        </span>
      )}
      {presence !== "not_ready" || reason === null ? null : (
        <span class="second-line" title={reason}>
          {reason}
        </span>
      )}
    </>
  );
}

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
