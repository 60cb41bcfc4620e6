import { type Attention, endpointsToAttend, robotCounts, robotsToAttend } from "../../../views/overview.ts";
import { counted } from "../../../views/view.ts";
import { areSettled } from "../data/query.ts";
import { mayDo } from "../data/session.ts";
import { useEnrolments } from "../enrolments/enrolments.tsx";
import { useFleets } from "../fleets/data.ts";
import { FleetSummary } from "../fleets/fleets.tsx";
import { useEndpoints } from "../models/catalog.tsx";
import { CountBar } from "../parts/count-bar.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded, Skeleton } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { robotPath, useRobots } from "../robots/data.ts";

/** Lines of each list; the pages have the rest. */
const LINES = 8;

/** `/`: what needs attention, then a summary of robots and fleets. */
export function Overview() {
  const { fleets, needs, rows } = useFleets();
  const robots = useRobots();
  const endpoints = useEndpoints();
  if (!areSettled([fleets, needs, robots, endpoints])) {
    return (
      <Page title="Overview">
        <Skeleton lines={LINES * 2} what="the overview" />
      </Page>
    );
  }
  const attentions = [endpointsToAttend(endpoints.value?.items ?? []), ...robotsToAttend(robots.value ?? [])];
  return (
    <Page title="Overview">
      {mayDo("robots:write") ? <WaitingRobots /> : null}
      <div class="sections overview">
        <Section title="Fleets" note={<a href="/fleets">All fleets</a>}>
          <Loaded data={fleets} what="the fleets">
            {() => <FleetSummary rows={rows} lines={LINES} />}
          </Loaded>
        </Section>
        <div class="sections">
          <Section title="Robots" note={<a href="/robots?sort=-changed">All, by change</a>}>
            <Loaded data={robots} what="the robots">
              {(list) => <CountBar counts={robotCounts(list).map(([word, count]) => ({ word, count }))} noun="robot" />}
            </Loaded>
          </Section>
          {attentions.map((attention) =>
            attention.items.length === 0 ? null : <AttentionList key={attention.title} {...attention} />,
          )}
        </div>
      </div>
    </Page>
  );
}

/** Says how many robot computers wait for approval, to those who may approve them. */
function WaitingRobots() {
  const { length } = useEnrolments().value?.items ?? [];
  if (length === 0) return null;
  return (
    <Notice
      tone="preparing"
      title={`${counted(length, "robot computer")} ${length === 1 ? "waits" : "wait"} for approval.`}
    >
      <p>
        <a href="/enrolments">Enrolments</a>
      </p>
    </Notice>
  );
}

/** Things with the same trouble, with why and since when. */
function AttentionList({ title, noun, items, path, isBlocked }: Attention) {
  const tone = isBlocked ? "blocked" : "degraded";
  return (
    <Section title={title} note={<a href={path}>All</a>}>
      <ul class="changes">
        {items.slice(0, LINES).map(({ name, robotId, reason, at }) => (
          <li key={robotId ?? name}>
            <span class="name-and-mark" data-tone={tone}>
              <Icon name={tone} />
              <span class="cut" title={reason ?? name}>
                {robotId === null ? (
                  <b>{name}</b>
                ) : (
                  <a class="row-link" href={robotPath(name, robotId)}>
                    {name}
                  </a>
                )}
                {reason === null ? null : <span class="second-line">{reason}</span>}
              </span>
            </span>
            {at === null ? <span class="muted">never seen</span> : <RelativeTime at={at} />}
          </li>
        ))}
      </ul>
      {items.length <= LINES ? null : <p class="table-more">and {counted(items.length - LINES, `more ${noun}`)}</p>}
    </Section>
  );
}
