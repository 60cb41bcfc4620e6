/** The robots on the overview. */
import { useMemo } from "preact/hooks";

import type { Data } from "../data/query.ts";
import { Bars } from "../parts/bars.tsx";
import { DigestChip } from "../parts/copy-button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { counted } from "../parts/text.ts";
import { type RegisteredRobot, robotPath } from "../robots/data.ts";

export function RobotCounts({ robots }: { readonly robots: Data<readonly RegisteredRobot[]> }) {
  return (
    <div class="columns below">
      <Section title="Robots by site" note={<a href="/robots">All robots</a>}>
        <Loaded data={robots} what="the robots" lines={6}>
          {(list) => <RobotBars robots={list} parameter="site" valueOf={({ site }) => site} />}
        </Loaded>
      </Section>
      <Section title="Robots by type">
        <Loaded data={robots} what="the robots" lines={6}>
          {(list) => (
            <RobotBars robots={list} parameter="type" valueOf={({ robot_type_id: robotTypeId }) => robotTypeId} />
          )}
        </Loaded>
      </Section>
    </div>
  );
}

interface RobotBarsProps {
  readonly robots: readonly RegisteredRobot[];
  /** Name of the filter on the page of robots. */
  readonly parameter: string;
  valueOf(robot: RegisteredRobot): string | null;
}

function RobotBars({ robots, parameter, valueOf }: RobotBarsProps) {
  const bars = useMemo(() => {
    const counts = new Map<string | null, number>();
    for (const robot of robots) counts.set(valueOf(robot), (counts.get(valueOf(robot)) ?? 0) + 1);
    return [...counts].map(([value, count]) => ({
      word: value ?? "none",
      count,
      href: value === null ? null : `/robots?${new URLSearchParams({ [parameter]: value }).toString()}`,
    }));
  }, [robots]);
  if (bars.length === 0) return <p class="muted">No robot is registered yet.</p>;
  return <Bars bars={bars} />;
}

interface RobotListProps {
  readonly robots: readonly RegisteredRobot[];
  readonly lines: number;
}

/** Robots whose name several computers register in turn, each replacing the other's registration. */
export function Contested(props: RobotListProps) {
  return <Degraded {...props} timeOf={({ contestedSince }) => contestedSince} />;
}

/** Robots whose heartbeats say that they cannot register, and why. */
export function NotReady(props: RobotListProps) {
  return (
    <Degraded
      {...props}
      timeOf={({ last_seen_at: lastSeenAt }) => lastSeenAt}
      reasonOf={({ not_ready_reason: reason }) => reason}
    />
  );
}

/** Enrolled robots that send no heartbeats, those that went last first. */
export function Offline({ robots, lines }: RobotListProps) {
  const latest = [...robots].sort((left, right) => (right.last_seen_at ?? "").localeCompare(left.last_seen_at ?? ""));
  return <Degraded robots={latest} lines={lines} timeOf={({ last_seen_at: lastSeenAt }) => lastSeenAt} />;
}

interface DegradedProps extends RobotListProps {
  /** Null for a robot that was never seen. */
  timeOf(robot: RegisteredRobot): string | null;
  reasonOf?(robot: RegisteredRobot): string | null;
}

function Degraded({ robots, lines, timeOf, reasonOf = () => null }: DegradedProps) {
  return (
    <>
      <ul class="changes">
        {robots.slice(0, lines).map((robot) => {
          const at = timeOf(robot);
          const reason = reasonOf(robot);
          return (
            <li key={robot.id}>
              <span class="name-and-mark" data-tone="degraded">
                <Icon name="degraded" />
                <span class="cut" title={reason ?? robot.name}>
                  <RobotLink id={robot.id} name={robot.name} />
                  {reason === null ? null : <span class="second-line">{reason}</span>}
                </span>
              </span>
              {at === null ? <span class="muted">never seen</span> : <RelativeTime at={at} />}
            </li>
          );
        })}
      </ul>
      <Rest count={robots.length - lines} noun="robot" />
    </>
  );
}

/** How many entries a list leaves out. */
export function Rest({ count, noun }: { readonly count: number; readonly noun: string }) {
  return count <= 0 ? null : <p class="table-more">and {counted(count, `more ${noun}`)}</p>;
}

export function Changes({ robots, lines }: RobotListProps) {
  const changed = robots.filter(({ changedAt }) => typeof changedAt === "string");
  changed.sort((left, right) => Date.parse(right.changedAt ?? "") - Date.parse(left.changedAt ?? ""));
  if (changed.length === 0) {
    return robots.some(({ changedAt }) => changedAt === undefined) ? (
      <Skeleton lines={lines} what="the registrations" />
    ) : (
      <p class="muted">No registration has changed yet.</p>
    );
  }
  return (
    <ul class="changes">
      {changed.slice(0, lines).map(({ id, name, changedAt, configurationDigest }) => (
        <li key={id}>
          <RobotLink id={id} name={name} />
          <DigestChip digest={configurationDigest ?? ""} isInList />
          <RelativeTime at={changedAt} />
        </li>
      ))}
    </ul>
  );
}

function RobotLink({ id, name }: Pick<RegisteredRobot, "id" | "name">) {
  return (
    <a class="row-link cut" href={robotPath(name, id)}>
      {name}
    </a>
  );
}
