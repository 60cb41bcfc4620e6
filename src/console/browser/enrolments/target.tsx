import type { EnrolmentDifference } from "../../../api/words/enrolments.ts";
import { Notice } from "../parts/notice.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";
import { capitalized } from "../parts/text.ts";
import { robotPath } from "../robots/data.ts";
import type { Target } from "./data.ts";

interface TargetNoticeProps {
  readonly target: Target;
  readonly name: string;
  readonly differences: readonly EnrolmentDifference[];
}

/** Whether a robot of the name exists and is online, and what the approval changes of it. */
export function TargetNotice({ target: { robot }, name, differences }: TargetNoticeProps) {
  if (name === "") return null;
  if (robot === undefined) return <Notice tone="waiting" title={`Looking for a robot ${name}…`} />;
  if (robot === "hidden")
    return <Notice tone="waiting" title={`The page cannot tell whether a robot ${name} exists.`} />;
  if (robot === null) return <Notice tone="active" title={`This adds the robot ${name}.`} />;
  const isOnline = robot.status === "online";
  return (
    <Notice
      tone={isOnline ? "blocked" : "degraded"}
      title={isOnline ? `${robot.name} is online on another computer.` : `The robot ${robot.name} exists.`}
    >
      <p>
        <a href={robotPath(robot.name, robot.id)} target="_blank">
          {robot.name}
        </a>{" "}
        keeps its id, history and fleets.{" "}
        {robot.installation_id === null ? (
          "No computer is enrolled as it."
        ) : (
          <>
            Its computer, last seen <RelativeTime at={robot.last_seen_at} />, is cut off as soon as the new one has its
            credential.
          </>
        )}
      </p>
      {differences.length === 0 ? null : <Differences differences={differences} />}
    </Notice>
  );
}

function Differences({ differences }: Pick<TargetNoticeProps, "differences">) {
  return (
    <SmallTable
      label="What the new computer says differs from the registration"
      heads={["What", "Registered", "New computer"]}
    >
      {differences.map(([member, registered, said]) => (
        <tr key={member}>
          <th scope="row">{capitalized(member)}</th>
          <td class="whole">{registered}</td>
          <td class="whole">{said}</td>
        </tr>
      ))}
    </SmallTable>
  );
}
