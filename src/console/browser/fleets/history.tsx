import type { FleetDetails, FleetGenerationView, MembershipChange } from "../../../api/fleet-details.ts";
import { RelativeTime, Sentence, withTimes } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";
import { withSpaces } from "../parts/text.ts";

/** Whether the members of a fleet change by themselves. */
export function membershipText({ selection, membership_changes: changes }: FleetDetails): string {
  if (selection.membership === "follow") return "Joining and leaving as they come to match";
  return changes === undefined ? "Fixed when the fleet was created" : "Fixed since it stopped following its selector";
}

/** Who joined and left a fleet that follows its selector, newest first. */
export function MembershipTable({ changes }: { readonly changes: readonly MembershipChange[] }) {
  return (
    <SmallTable label="Membership changes" heads={["Robot", "Change", "When", "Why"]}>
      {changes.map(({ at, robot_id: robotId, robot, change, reason }) => (
        <tr key={`${at} ${robotId}`}>
          <th scope="row" title={robotId}>
            {robot}
          </th>
          <td>{withSpaces(change)}</td>
          <td>
            <RelativeTime at={at} />
          </td>
          <td>{reason}</td>
        </tr>
      ))}
    </SmallTable>
  );
}

/** All generations of a fleet: its current model, earlier ones, and updates. */
export function GenerationTable({ generations }: { readonly generations: readonly FleetGenerationView[] }) {
  return (
    <SmallTable label="Model generations" heads={["Model", "State", "Given", "Active since"]}>
      {generations.map((generation) => (
        <tr key={generation.generation_id}>
          <th scope="row" title={generation.generation_id}>
            {generation.subject}
          </th>
          <td>
            <StatusBadge status={generation.status} />
            {generation.blocker === null ? null : (
              <span class="second-line two-lines" title={withTimes(generation.blocker)}>
                <Sentence text={generation.blocker} />
              </span>
            )}
          </td>
          <td>
            <RelativeTime at={generation.created_at} />
          </td>
          <td>
            <RelativeTime at={generation.activated_at} />
          </td>
        </tr>
      ))}
    </SmallTable>
  );
}
