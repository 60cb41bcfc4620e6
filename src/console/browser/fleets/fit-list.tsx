import type { FitGroup } from "../../../api/words/fit-groups.ts";
import { Sentence } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { number } from "../parts/text.ts";
import { RobotNames } from "../robots/names.tsx";

interface FitListProps {
  readonly groups: readonly FitGroup[];
  /** Opens links in a new tab, so that a form is not left. */
  readonly opensElsewhere?: boolean;
}

/** Robots by whether they can run a model now, and why not. */
export function FitList({ groups, opensElsewhere = false }: FitListProps) {
  return (
    <ul class="groups">
      {groups.map(({ fit, reason, robots }) => (
        <li key={`${fit} ${reason ?? ""}`}>
          {fit === "runs" && groups.length === 1 ? null : (
            <p class="group-head">
              <StatusBadge status={STATUSES[fit]} word={`${number(robots.length)} ${WORDS[fit]}`} />
              {reason === null ? null : <Sentence text={reason} />}
            </p>
          )}
          <RobotNames robots={robots} opensElsewhere={opensElsewhere} />
        </li>
      ))}
    </ul>
  );
}

const STATUSES = { lacks: "blocked", waits: "degraded", runs: "ready" } as const satisfies Record<
  FitGroup["fit"],
  string
>;

const WORDS = {
  lacks: "cannot run it",
  waits: "would wait",
  runs: "can run it",
} as const satisfies Record<FitGroup["fit"], string>;
