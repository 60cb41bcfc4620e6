import type { IdentifiedRobotView, RobotView } from "../../api/robot-views.ts";
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

type Presence = Pick<IdentifiedRobotView, "status" | "installation_id" | "last_seen_at">;

/** Whether a computer with a credential of its own speaks for the robot. A service without enrolment shows none. */
export function isEnrolled({ installation_id: installationId }: Presence): boolean {
  return installationId !== null;
}

/** `online`, `offline, last seen 3 d ago`, `no computer enrolled`; empty where the service does not say. */
export function statusText(robot: Presence, now: Now): string {
  const { status, last_seen_at: lastSeenAt } = robot;
  if (status === null || status === "online") return status ?? "";
  if (lastSeenAt !== null) return `offline, last seen ${timeAgo(lastSeenAt, now)}`;
  return isEnrolled(robot) ? "offline, not seen yet" : "no computer enrolled";
}
