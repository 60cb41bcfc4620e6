/** The robots on the overview. */
import { useMemo } from "preact/hooks";

import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { type Attention, robotCounts } from "../../../views/overview.ts";
import type { ListedRobot } from "../../../views/robots.ts";
import { inWords } from "../../../views/view.ts";
import type { Data } from "../data/query.ts";
import { Bars } from "../parts/bars.tsx";
import { CountBar } from "../parts/count-bar.tsx";
import { DigestChip } from "../parts/copy-button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { toneOf } from "../parts/status-badge.tsx";
import { counted } from "../parts/text.ts";
import { robotPath } from "../robots/data.ts";

export function RobotCounts({ robots }: { readonly robots: Data<readonly ListedRobot[]> }) {
  const counts = robotCounts(robots.value ?? []);
  const shown = counts.map(([state, count]) => ({ tone: toneOf(state), word: inWords(state), count }));
  return (
    <div class="columns below">
      <Section title="Robots by site" note={<a href="/robots">All robots</a>}>
        <Loaded data={robots} what="the robots" lines={6}>
          {(list) => (
            <>
              <CountBar counts={shown} noun="robot" />
              <RobotBars robots={list} parameter="site" valueOf={({ site }) => site} />
            </>
          )}
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
  readonly robots: readonly ListedRobot[];
  /** Name of the filter on the page of robots. */
  readonly parameter: string;
  valueOf(robot: IdentifiedRobotView): string | null;
}

function RobotBars({ robots, parameter, valueOf }: RobotBarsProps) {
  const bars = useMemo(() => {
    const counts = new Map<string | null, number>();
    for (const { view } of robots) counts.set(valueOf(view), (counts.get(valueOf(view)) ?? 0) + 1);
    return [...counts].map(([value, count]) => ({
      word: value ?? "none",
      count,
      href: value === null ? null : `/robots?${new URLSearchParams({ [parameter]: value }).toString()}`,
    }));
  }, [robots]);
  if (bars.length === 0) return <p class="muted">No robot is registered yet.</p>;
  return <Bars bars={bars} />;
}

interface AttentionProps extends Attention {
  readonly lines: number;
}

/** Things with the same trouble, with why and since when. */
export function AttentionList({ title, noun, items, path, isBlocked, lines }: AttentionProps) {
  const tone = isBlocked ? "blocked" : "degraded";
  return (
    <Section title={title} note={<a href={path}>All</a>}>
      <ul class="changes">
        {items.slice(0, lines).map(({ name, robotId, reason, at }) => (
          <li key={robotId ?? name}>
            <span class="name-and-mark" data-tone={tone}>
              <Icon name={tone} />
              <span class="cut" title={reason ?? name}>
                {robotId === null ? <b>{name}</b> : <RobotLink id={robotId} name={name} />}
                {reason === null ? null : <span class="second-line">{reason}</span>}
              </span>
            </span>
            {at === null ? <span class="muted">never seen</span> : <RelativeTime at={at} />}
          </li>
        ))}
      </ul>
      {items.length <= lines ? null : <p class="table-more">and {counted(items.length - lines, `more ${noun}`)}</p>}
    </Section>
  );
}

interface ChangesProps {
  readonly robots: readonly ListedRobot[];
  readonly lines: number;
}

export function Changes({ robots, lines }: ChangesProps) {
  const changed = robots.flatMap(({ registration }) => registration ?? []);
  changed.sort((left, right) => Date.parse(right.changed_at) - Date.parse(left.changed_at));
  if (changed.length === 0) {
    return robots.some(({ registration }) => registration === undefined) ? (
      <Skeleton lines={lines} what="the registrations" />
    ) : (
      <p class="muted">No registration has changed yet.</p>
    );
  }
  return (
    <ul class="changes">
      {changed.slice(0, lines).map(({ robot_id: id, robot: name, changed_at: at, configuration_digest: digest }) => (
        <li key={id}>
          <RobotLink id={id} name={name} />
          <DigestChip digest={digest} isInList />
          <RelativeTime at={at} />
        </li>
      ))}
    </ul>
  );
}

function RobotLink({ id, name }: { readonly id: string; readonly name: string }) {
  return (
    <a class="row-link cut" href={robotPath(name, id)}>
      {name}
    </a>
  );
}
