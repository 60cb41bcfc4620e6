import type { FleetMemberView } from "../../../api/fleet-details.ts";
import { memberStateInWords } from "../../../api/words/fleets.ts";
import { groupBy } from "../../../api/words/group-by.ts";
import { Sentence } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { number } from "../parts/text.ts";
import { RobotNames } from "../robots/names.tsx";

/** Members in the same state for the same reason. */
interface Group extends Pick<FleetMemberView, "state" | "waiting_for" | "reason"> {
  readonly members: readonly FleetMemberView[];
}

/** Most urgent first. */
const ORDER: readonly string[] = ["blocked", "waiting", "active", "ready"];

/** The members of a fleet, grouped by reason: forty robots that lack the same camera are one task, not forty. Then those that are offline. */
export function MembersByReason({ members }: { readonly members: readonly FleetMemberView[] }) {
  // The others are a group of their own.
  const offline = members.filter(
    ({ status, waiting_for: waitingFor }) => status === "offline" && waitingFor !== "robot",
  );
  return (
    <ul class="groups">
      {groupsOf(members).map((group) => (
        <li key={`${group.state} ${group.reason ?? ""}`}>
          <p class="group-head">
            <StatusBadge status={group.state} word={`${number(group.members.length)} ${memberStateInWords(group)}`} />
            {group.reason === null ? null : <Sentence text={group.reason} />}
          </p>
          <RobotNames robots={group.members} />
        </li>
      ))}
      {offline.length === 0 ? null : (
        <li>
          <p class="group-head">
            <StatusBadge status="offline" word={`${number(offline.length)} offline`} />
            No heartbeats arrive.
          </p>
          <RobotNames robots={offline} />
        </li>
      )}
    </ul>
  );
}

function groupsOf(members: readonly FleetMemberView[]): readonly Group[] {
  const groups = groupBy(members, ({ state, reason }) => `${state} ${reason ?? ""}`);
  const list = [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { state, waiting_for: waitingFor, reason } = first;
    return [{ state, waiting_for: waitingFor, reason, members: group }];
  });
  return list.sort(
    (left, right) =>
      ORDER.indexOf(left.state) - ORDER.indexOf(right.state) || right.members.length - left.members.length,
  );
}
