import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { Liveness } from "./liveness.ts";
import type { IdentitySettings } from "./settings.ts";

/** What decides at a moment which robots are online. */
export interface Presence extends Pick<Liveness, "seen"> {
  /** ISO 8601: robots whose last heartbeat is not older are online. */
  readonly onlineSince: string;
}

/** The live installation of a robot, as far as its presence depends on it; nulls where the robot has none. */
export interface LiveRow extends Pick<Tables["installations"], "last_seen_at"> {
  readonly installation_id: string | null;
  readonly installation_state: Tables["installations"]["state"] | null;
}

export function presenceAt(
  nowMs: number,
  { liveness, identity }: { readonly liveness: Pick<Liveness, "seen">; readonly identity: IdentitySettings },
): Presence {
  return {
    seen: (installationId) => liveness.seen(installationId),
    onlineSince: new Date(nowMs - identity.onlineWindowMs).toISOString(),
  };
}

/** What a robot's view says of its presence. This replica may know of a later heartbeat than the store. */
export function presenceOf(
  { installation_id: id, installation_state: state, last_seen_at: stored }: LiveRow,
  { seen, onlineSince }: Presence,
): Pick<IdentifiedRobotView, "status" | "last_seen_at"> {
  const noted = id === null ? undefined : seen(id)?.at;
  const lastSeen = noted === undefined || (stored !== null && stored > noted) ? stored : noted;
  const isOnline = state === "active" && lastSeen !== null && lastSeen >= onlineSince;
  return { status: isOnline ? "online" : "offline", last_seen_at: lastSeen };
}

export function isOnline(row: LiveRow, presence: Presence): boolean {
  return presenceOf(row, presence).status === "online";
}
