import type { FleetDetails, MembershipChange } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { ChangeDialog } from "../parts/form/change-dialog.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";
import { counted, withSpaces } from "../parts/text.ts";

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

interface ChangeMembershipProps {
  readonly fleet: FleetView;
  /** Whether the fleet follows its selector now. */
  readonly follows: boolean;
  close(): void;
}

/** Has a fleet follow its selector, or keep the robots that it has. */
export function ChangeMembership({ fleet: { id, name, robots }, follows, close }: ChangeMembershipProps) {
  const body = { membership: follows ? "snapshot" : "follow" };
  return (
    <ChangeDialog
      title={follows ? `Stop ${name} following its selector?` : `Have ${name} follow its selector?`}
      verb={follows ? "Stop following" : "Follow selector"}
      request={{ method: "PATCH", path: `/v1/fleets/${encodeURIComponent(id)}`, body }}
      topics={["fleets"]}
      done={follows ? `${name} keeps its robots.` : `${name} follows its selector.`}
      close={close}
    >
      <p>
        {follows
          ? `It keeps the ${counted(robots.registered, "robot")} that it has, whatever becomes of them.`
          : "Robots join as they come to match its selector, and leave as they no longer do. Their deployments stay."}
      </p>
    </ChangeDialog>
  );
}
