import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { presenceOf } from "./data.ts";

/** Whether a robot is online, and since when it is not; nothing if the service does not tell. */
export function Presence({ robot }: { readonly robot: IdentifiedRobotView }) {
  const presence = presenceOf(robot);
  if (presence === null) return null;
  if (presence === "online") return <StatusBadge status="online" />;
  return (
    <span class="presence">
      <StatusBadge status="offline" />
      {robot.last_seen_at === null ? null : (
        <span class="second-line">
          seen <RelativeTime at={robot.last_seen_at} />
        </span>
      )}
    </span>
  );
}
