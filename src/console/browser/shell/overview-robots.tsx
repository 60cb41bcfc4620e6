/** The robots on the overview. */
import { type Attention, robotCounts } from "../../../views/overview.ts";
import type { ListedRobot } from "../../../views/robots.ts";
import { inWords, toneOf, counted } from "../../../views/view.ts";
import { CountBar } from "../parts/count-bar.tsx";
import { DigestChip } from "../parts/copy-button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { Skeleton } from "../parts/loaded.tsx";
import { robotPath } from "../robots/data.ts";

/** How many robots are in which state. */
export function RobotCounts({ robots }: Pick<ChangesProps, "robots">) {
  const counts = robotCounts(robots).map(([state, count]) => ({ tone: toneOf(state), word: inWords(state), count }));
  return <CountBar counts={counts} noun="robot" />;
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
  if (robots.some(({ registration }) => registration === undefined))
    return <Skeleton lines={lines} what="the registrations" />;
  if (changed.length === 0) return <p class="muted">No registration has changed yet.</p>;
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
