import type { EndpointView } from "../../../api/endpoints.ts";
import { presenceOf } from "../../../api/words/presence.ts";
import { mayDo } from "../data/session.ts";
import { useSettled } from "../data/query.ts";
import { useEnrolments } from "../enrolments/enrolments.tsx";
import { useFleets } from "../fleets/data.ts";
import { FleetSummary } from "../fleets/fleets.tsx";
import { useEndpoints } from "../models/catalog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice, ProblemNotice } from "../parts/notice.tsx";
import { Page, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { counted } from "../parts/text.ts";
import { useRobots } from "../robots/data.ts";
import { Changes, Contested, NotReady, Offline, Rest, RobotCounts } from "./overview-robots.tsx";

/** Lines of each list; the pages have the rest. */
const LINES = 8;

/** `/`: what needs attention, then a summary of robots, fleets and endpoints. */
export function Overview() {
  const { fleets, needs, rows } = useFleets();
  const robots = useRobots();
  const endpoints = useEndpoints();
  const isDown = [fleets, robots, endpoints].every(({ state }) => state === "failed");
  const isSettled = useSettled([fleets, needs, robots, endpoints]);
  const contested = robots.value?.filter((robot) => robot.contestedSince !== null) ?? [];
  const notReady = robots.value?.filter((robot) => presenceOf(robot) === "not_ready") ?? [];
  const offline = robots.value?.filter((robot) => presenceOf(robot) === "offline") ?? [];
  if (!isSettled) {
    return (
      <Page title="Overview">
        <Skeleton lines={LINES * 2} what="the overview" />
      </Page>
    );
  }
  return (
    <Page title="Overview">
      {isDown && fleets.state === "failed" ? (
        <ProblemNotice problem={fleets.problem} what="the overview" retry={fleets.retry} />
      ) : (
        <>
          {mayDo("robots:write") ? <WaitingRobots /> : null}
          <div class="sections overview">
            <Section title="Fleets" note={<a href="/fleets">All fleets</a>}>
              <Loaded data={fleets} what="the fleets" lines={LINES * 2}>
                {() => <FleetSummary rows={rows} lines={LINES} />}
              </Loaded>
            </Section>
            <div class="sections">
              <Section title="Inference endpoints that fail">
                <Loaded data={endpoints} what="the endpoints" lines={3}>
                  {({ items }) => <Endpoints endpoints={items} />}
                </Loaded>
              </Section>
              {contested.length === 0 ? null : (
                <Section
                  title="Names that two computers register"
                  note={<a href="/robots?registration=contested">All</a>}
                >
                  <Contested robots={contested} lines={LINES} />
                </Section>
              )}
              {notReady.length === 0 ? null : (
                <Section title="Robots that cannot register" note={<a href="/robots?state=not_ready">All</a>}>
                  <NotReady robots={notReady} lines={LINES} />
                </Section>
              )}
              {offline.length === 0 ? null : (
                <Section title="Robots that are offline" note={<a href="/robots?state=offline">All</a>}>
                  <Offline robots={offline} lines={LINES} />
                </Section>
              )}
              <Section title="Robots that changed last" note={<a href="/robots?sort=-changed">All, by change</a>}>
                <Loaded data={robots} what="the robots" lines={LINES}>
                  {(list) => <Changes robots={list} lines={LINES} />}
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

/** Says how many robot computers wait for approval, to those who may approve them. */
function WaitingRobots() {
  const enrolments = useEnrolments();
  if (enrolments.state !== "ready" || enrolments.value.items.length === 0) return null;
  const { length } = enrolments.value.items;
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

function Endpoints({ endpoints }: { readonly endpoints: readonly EndpointView[] }) {
  const failing = endpoints.filter(({ status }) => status === "unhealthy");
  if (endpoints.length === 0) return <p class="muted">The catalog has no endpoints.</p>;
  if (failing.length === 0) return <p>None; the catalog has {counted(endpoints.length, "endpoint")}.</p>;
  return (
    <>
      <ul class="changes">
        {failing
          .slice(0, LINES)
          .map(({ checkpoint_id: checkpointId, model_slug: modelSlug, region, since, detail }) => (
            <li key={checkpointId + region}>
              <span class="name-and-mark" data-tone="blocked">
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
      <Rest count={failing.length - LINES} noun="endpoint" />
    </>
  );
}
