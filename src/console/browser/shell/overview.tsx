import { counted } from "../../../views/view.ts";
import type { EndpointView } from "../../../api/endpoints.ts";
import { endpointsToAttend, robotsToAttend } from "../../../views/overview.ts";
import { mayDo } from "../data/session.ts";
import { areSettled } from "../data/query.ts";
import { useEnrolments } from "../enrolments/enrolments.tsx";
import { useFleets } from "../fleets/data.ts";
import { FleetSummary } from "../fleets/fleets.tsx";
import { useEndpoints } from "../models/catalog.tsx";
import { Loaded, Skeleton } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page, Section } from "../parts/page.tsx";
import { useRobots } from "../robots/data.ts";
import { AttentionList, Changes, RobotCounts } from "./overview-robots.tsx";

/** Lines of each list; the pages have the rest. */
const LINES = 8;

/** `/`: what needs attention, then a summary of robots, fleets and endpoints. */
export function Overview() {
  const { fleets, needs, rows } = useFleets();
  const robots = useRobots();
  const endpoints = useEndpoints();
  const isSettled = areSettled([fleets, needs, robots, endpoints]);
  if (!isSettled) {
    return (
      <Page title="Overview">
        <Skeleton lines={LINES * 2} what="the overview" />
      </Page>
    );
  }
  return (
    <Page title="Overview">
      {mayDo("robots:write") ? <WaitingRobots /> : null}
      <div class="sections overview">
        <Section title="Fleets" note={<a href="/fleets">All fleets</a>}>
          <Loaded data={fleets} what="the fleets" lines={LINES * 2}>
            {() => <FleetSummary rows={rows} lines={LINES} />}
          </Loaded>
        </Section>
        <div class="sections">
          <Section title="Robots" note={<a href="/robots">All robots</a>}>
            <Loaded data={robots} what="the robots" lines={3}>
              {(list) => <RobotCounts robots={list} />}
            </Loaded>
          </Section>
          <Loaded data={endpoints} what="the endpoints" lines={3}>
            {({ items }) => <FailingEndpoints endpoints={items} />}
          </Loaded>
          {robotsToAttend(robots.value ?? []).map((attention) =>
            attention.items.length === 0 ? null : <AttentionList key={attention.title} {...attention} lines={LINES} />,
          )}
          <Section title="Robots that changed last" note={<a href="/robots?sort=-changed">All, by change</a>}>
            <Loaded data={robots} what="the robots" lines={LINES}>
              {(list) => <Changes robots={list} lines={LINES} />}
            </Loaded>
          </Section>
        </div>
      </div>
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

function FailingEndpoints({ endpoints }: { readonly endpoints: readonly EndpointView[] }) {
  const failing = endpointsToAttend(endpoints);
  if (failing.items.length > 0) return <AttentionList {...failing} lines={LINES} />;
  return (
    <Section title={failing.title}>
      <p>
        {endpoints.length === 0
          ? "The catalog has no endpoints."
          : `None; the catalog has ${counted(endpoints.length, "endpoint")}.`}
      </p>
    </Section>
  );
}
