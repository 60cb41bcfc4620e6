import { useEffect, useState } from "preact/hooks";

import type { FleetPreviewed, PreviewedRobot } from "../../../api/fleet-details.ts";
import type { RobotView } from "../../../api/robot-views.ts";
import { fitCounts, fitGroups } from "../../../api/words/fit-groups.ts";
import type { Problem } from "../data/request.ts";
import { request } from "../data/request.ts";
import { sessionEnded } from "../data/session.ts";
import { useData } from "../data/use-data.ts";
import { useRetry } from "../data/use-retry.ts";
import { FitList } from "../fleets/fit-list.tsx";
import { ProblemNotice } from "../parts/notice.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { counted, number } from "../parts/text.ts";

/** Most robots in one request (SELECTION_ROBOTS_COUNT of src/api/fleets.ts). */
const ROBOTS_AT_ONCE = 1000;
/** Most requests; the page then says how many robots it did not check. */
const ANSWERS_MAXIMUM = 20;

type Fit =
  | { readonly state: "asking" }
  | { readonly state: "failed"; readonly problem: Problem }
  | { readonly state: "ready"; readonly robots: readonly PreviewedRobot[] };

/** Every robot of the organization, by whether it can run a checkpoint, and why not. The service decides. */
export function RobotsThatFit({ subject }: { readonly subject: string }) {
  const robots = useData<readonly RobotView[]>("/v1/robots", ["robots"]);
  const [attempt, setAttempt] = useState(0);
  const ids = robots.state === "ready" ? robots.value.map(({ id }) => id) : null;
  const fit = useFit(subject, ids, attempt);
  const retry = () => setAttempt((before) => before + 1);
  useRetry(fit.state === "failed" ? fit.problem : null, retry);
  if (robots.state === "failed")
    return <ProblemNotice problem={robots.problem} what="the robots" retry={robots.retry} />;
  if (ids?.length === 0) return <p class="muted">No robot is registered yet.</p>;
  switch (fit.state) {
    case "asking":
      return <Skeleton lines={3} what="which robots can run it" />;
    case "failed":
      return <ProblemNotice problem={fit.problem} what="which robots can run it" retry={retry} />;
    case "ready":
      return <Groups robots={fit.robots} beyond={(ids?.length ?? 0) - fit.robots.length} />;
  }
}

function useFit(subject: string, ids: readonly string[] | null, attempt: number): Fit {
  const key = ids === null ? null : ids.join(" ");
  const [fit, setFit] = useState<Fit & { readonly subject?: string }>({ state: "asking" });
  useEffect(() => {
    if (ids === null || ids.length === 0) return undefined;
    const controller = new AbortController();
    const ask = async () => {
      const robots: PreviewedRobot[] = [];
      for (let part = 0; part < ANSWERS_MAXIMUM && part * ROBOTS_AT_ONCE < ids.length; part += 1) {
        const some = ids.slice(part * ROBOTS_AT_ONCE, (part + 1) * ROBOTS_AT_ONCE);
        const outcome = await request<FleetPreviewed>("POST", "/v1/fleets/preview", {
          body: { robots: some, subject },
          signal: controller.signal,
        });
        if (outcome.state === "aborted") return;
        if (outcome.state === "failed") {
          if (outcome.problem.kind === "unauthorized") sessionEnded();
          setFit({ ...outcome, subject });
          return;
        }
        robots.push(...outcome.value.robots);
      }
      setFit({ state: "ready", robots, subject });
    };
    void ask();
    return () => controller.abort();
  }, [subject, key, attempt]);
  // The last answer may be for another checkpoint.
  return fit.subject === subject ? fit : { state: "asking" };
}

interface GroupsProps {
  readonly robots: readonly PreviewedRobot[];
  /** Number of robots that were not checked. */
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
          word={`${number(runs)} of ${counted(robots.length, "robot")} can run it`}
        />
      </p>
      <FitList groups={groups} />
      {beyond <= 0 ? null : <p class="muted">{counted(beyond, "more robot")} not checked.</p>}
    </>
  );
}
