import { useMemo } from "preact/hooks";

import type { EndpointView } from "../../../api/endpoints.ts";
import type { Data } from "../data/use-data.ts";
import { useData } from "../data/use-data.ts";
import { useSettled } from "../data/use-settled.ts";
import { useFleets } from "../fleets/data.ts";
import { FleetSummary } from "../fleets/needs.tsx";
import { Bars } from "../parts/bars.tsx";
import { DigestChip } from "../parts/digest-chip.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { ProblemNotice } from "../parts/notice.tsx";
import { Page, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { counted } from "../parts/text.ts";
import { useWidth } from "../parts/use-width.ts";
import type { RegisteredRobot } from "../robots/data.ts";
import { robotPath, useRobots } from "../robots/data.ts";

/** Lines of each list; the pages have the rest. */
const LINES = { wall: 16, wide: 8, medium: 8, narrow: 6, phone: 5 } as const;

/** `/`: what needs attention, then a summary of robots, fleets and endpoints. */
export function Overview() {
  const lines = LINES[useWidth()];
  const { fleets, needs, rows } = useFleets();
  const robots = useRobots();
  const endpoints = useData<{ readonly items: readonly EndpointView[] }>("/v1/endpoints", ["models", "fleets"]);
  const isDown = [fleets, robots, endpoints].every(({ state }) => state === "failed");
  const isSettled = useSettled([fleets, needs, robots, endpoints]);
  const contested = robots.state === "ready" ? robots.value.filter((robot) => robot.contestedSince !== null) : [];
  if (!isSettled) {
    return (
      <Page title="Overview">
        <Skeleton lines={lines * 2} what="the overview" />
      </Page>
    );
  }
  return (
    <Page title="Overview">
      {isDown && fleets.state === "failed" ? (
        <ProblemNotice problem={fleets.problem} what="the overview" retry={fleets.retry} />
      ) : (
        <>
          <div class="overview">
            <Section title="Fleets" note={<a href="/fleets">All fleets</a>}>
              <Loaded data={fleets} what="the fleets" lines={lines * 2}>
                {() => <FleetSummary rows={rows} lines={lines} />}
              </Loaded>
            </Section>
            <div class="sections">
              <Section title="Inference endpoints that fail">
                <Loaded data={endpoints} what="the endpoints" lines={3}>
                  {({ items }) => <Endpoints endpoints={items} lines={lines} />}
                </Loaded>
              </Section>
              {contested.length === 0 ? null : (
                <Section
                  title="Names that two computers register"
                  note={<a href="/robots?registration=contested">All</a>}
                >
                  <Contested robots={contested} lines={lines} />
                </Section>
              )}
              <Section title="Robots that changed last" note={<a href="/robots?sort=-changed">All, by change</a>}>
                <Loaded data={robots} what="the robots" lines={lines}>
                  {(list) => <Changes robots={list} lines={lines} />}
                </Loaded>
              </Section>
            </div>
          </div>
          {robots.state === "failed" ? null : <RobotCounts robots={robots} />}
        </>
      )}
    </Page>
  );
}

function RobotCounts({ robots }: { readonly robots: Data<readonly RegisteredRobot[]> }) {
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

interface EndpointsProps {
  readonly endpoints: readonly EndpointView[];
  readonly lines: number;
}

function Endpoints({ endpoints, lines }: EndpointsProps) {
  const failing = endpoints.filter(({ status }) => status === "unhealthy");
  if (endpoints.length === 0) return <p class="muted">The catalog has no endpoints.</p>;
  if (failing.length === 0) return <p>None; the catalog has {counted(endpoints.length, "endpoint")}.</p>;
  return (
    <>
      <ul class="changes">
        {failing
          .slice(0, lines)
          .map(({ checkpoint_id: checkpointId, model_slug: modelSlug, region, since, detail }) => (
            <li key={checkpointId + region}>
              <span class="failing" data-tone="blocked">
                <Icon name="blocked" />
                <span class="cut" title={[checkpointId, detail].filter(Boolean).join(": ")}>
                  <b>{modelSlug}</b> in {region}
                  {detail === null ? null : <span class="second-line">{detail}</span>}
                </span>
              </span>
              <RelativeTime at={since} />
            </li>
          ))}
      </ul>
      {failing.length <= lines ? null : (
        <p class="table-more">and {counted(failing.length - lines, "more endpoint")}</p>
      )}
    </>
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

/** Robots whose name several computers register in turn, each replacing the other's registration. */
function Contested({ robots, lines }: ChangesProps) {
  return (
    <ul class="changes">
      {robots.slice(0, lines).map(({ id, name, contestedSince }) => (
        <li key={id}>
          <span class="failing" data-tone="degraded">
            <Icon name="degraded" />
            <a class="row-link cut" href={robotPath(name, id)}>
              {name}
            </a>
          </span>
          <RelativeTime at={contestedSince} />
        </li>
      ))}
    </ul>
  );
}

interface ChangesProps {
  readonly robots: readonly RegisteredRobot[];
  readonly lines: number;
}

function Changes({ robots, lines }: ChangesProps) {
  const changed = robots.flatMap(({ id, name, changedAt, configurationDigest }) =>
    typeof changedAt === "string" && typeof configurationDigest === "string"
      ? [{ id, name, changedAt, configurationDigest }]
      : [],
  );
  changed.sort((left, right) => Date.parse(right.changedAt) - Date.parse(left.changedAt));
  if (changed.length === 0 && robots.some(({ changedAt }) => changedAt === undefined)) {
    return <Skeleton lines={lines} what="the registrations" />;
  }
  if (changed.length === 0) return <p class="muted">No registration has changed yet.</p>;
  return (
    <ul class="changes">
      {changed.slice(0, lines).map(({ id, name, changedAt, configurationDigest }) => (
        <li key={id}>
          <a class="row-link cut" href={robotPath(name, id)}>
            {name}
          </a>
          <DigestChip digest={configurationDigest} isInList />
          <RelativeTime at={changedAt} />
        </li>
      ))}
    </ul>
  );
}
