import type { IdentifiedRobotView, RobotView } from "../../api/robot-views.ts";
import { presenceOf } from "../../api/words/presence.ts";
import { type Now, timeAgo } from "../times.ts";

/** The wording for robots in all commands. */

/** Enough to distinguish two digests. */
const DIGEST_SHOWN = "sha256:".length + 12;

export function shortDigest(digest: string | null | undefined): string {
  return digest?.slice(0, DIGEST_SHOWN) ?? "";
}

/** `line=4 shift=day`, as --label takes each. */
export function labelsText({ labels }: Pick<RobotView, "labels">): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

/** Whether a computer with a credential of its own speaks for the robot. A service without enrolment shows none. */
export function isEnrolled({ installation_id: installationId }: Pick<IdentifiedRobotView, "installation_id">): boolean {
  return installationId !== null;
}

/** `online`, `not ready`, `offline` or `not monitored`; empty where the service does not say. */
export function presenceWord(robot: IdentifiedRobotView): string {
  return presenceOf(robot)?.replaceAll("_", " ") ?? "";
}

/** `online`, `not ready: Not registering: …`, `offline, last seen 3 d ago`, `not monitored, …`; empty where the service does not say. */
export function statusText(robot: IdentifiedRobotView, now: Now): string {
  const { last_seen_at: lastSeenAt, not_ready_reason: reason } = robot;
  const presence = presenceOf(robot);
  switch (presence) {
    case null:
    case "online":
      return presence ?? "";
    case "not_ready":
      return reason === null ? "not ready" : `not ready: ${reason}`;
    case "offline":
      return lastSeenAt === null ? "offline, not seen yet" : `offline, last seen ${timeAgo(lastSeenAt, now)}`;
    case "not_monitored":
      return "not monitored, no computer enrolled";
  }
}
