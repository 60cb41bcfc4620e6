import type { FleetPreviewed, PreviewedRobot } from "../../../api/fleet-details.ts";
import { fitCounts, fitGroups } from "../../../api/words/fit-groups.ts";
import { type Outcome, request } from "../data/request.ts";
import { useAnswer } from "../data/use-answer.ts";
import { FitList } from "../fleets/fit-list.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { counted, countedOf } from "../parts/text.ts";
import { useRobotViews } from "../robots/data.ts";

/** Most robots in one request (SELECTION_ROBOTS_COUNT of src/api/fleets.ts). */
const ROBOTS_AT_ONCE = 1000;
/** Most requests; the page then says how many robots it did not check. */
const ANSWERS_MAXIMUM = 20;

/** Every robot of the organization, by whether it can run a checkpoint, and why not. The service decides. */
export function RobotsThatFit({ subject }: { readonly subject: string }) {
  const robots = useRobotViews();
  return (
    <Loaded data={robots} what="the robots" lines={3}>
      {(views) =>
        views.length === 0 ? (
          <p class="muted">No robot is registered yet.</p>
        ) : (
          <Judged key={subject} subject={subject} ids={views.map(({ id }) => id)} />
        )
      }
    </Loaded>
  );
}

interface JudgedProps {
  readonly subject: string;
  readonly ids: readonly string[];
}

function Judged({ subject, ids }: JudgedProps) {
  const fit = useAnswer(ids.join(" "), (signal) => askInParts(subject, ids, signal));
  return (
    <Loaded data={fit} what="which robots can run it" lines={3}>
      {(robots) => <Groups robots={robots} beyond={ids.length - robots.length} />}
    </Loaded>
  );
}

async function askInParts(
  subject: string,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Outcome<readonly PreviewedRobot[]>> {
  const value: PreviewedRobot[] = [];
  for (let part = 0; part < ANSWERS_MAXIMUM && part * ROBOTS_AT_ONCE < ids.length; part += 1) {
    const robots = ids.slice(part * ROBOTS_AT_ONCE, (part + 1) * ROBOTS_AT_ONCE);
    const outcome = await request<FleetPreviewed>("POST", "/v1/fleets/preview", { body: { robots, subject }, signal });
    if (outcome.state !== "answered") return outcome;
    value.push(...outcome.value.robots);
  }
  return { state: "answered", value };
}

interface GroupsProps {
  readonly robots: readonly PreviewedRobot[];
  readonly beyond: number;
}

function Groups({ robots, beyond }: GroupsProps) {
  const groups = fitGroups(robots);
  const { runs } = fitCounts(groups);
  return (
    <>
      <p class="group-head">
        <StatusBadge
          status={runs === 0 ? "waiting" : "ready"}
          word={`${countedOf(runs, robots.length, "robot")} can run it`}
        />
      </p>
      <FitList groups={groups} />
      {beyond <= 0 ? null : <p class="muted">{counted(beyond, "more robot")} not checked.</p>}
    </>
  );
}
