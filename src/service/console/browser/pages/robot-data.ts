import { useMemo } from "preact/hooks";

import type { RegistrationSummary } from "../../../../api/registrations.ts";
import type { RobotView } from "../../../../api/robot-views.ts";
import type { Data } from "../data/use-data.ts";
import { useData } from "../data/use-data.ts";

/** A robot, and of its last registration what a list shows: undefined before the service has told, null where it does not tell. */
export interface RegisteredRobot extends RobotView {
  readonly configuration_digest: string | null | undefined;
  readonly changed_at: string | null | undefined;
  /** Since when two computers register its name in turn; null while none is seen to. */
  readonly contested_since: string | null;
}

interface Registrations {
  readonly items: readonly RegistrationSummary[];
}

/** All robots of the organization, with the digest of each. They are shown without digests before those are there. */
export function useRobots(): Data<readonly RegisteredRobot[]> {
  const robots = useData<readonly RobotView[]>("/v1/robots", ["robots"]);
  const registrations = useData<Registrations>("/v1/me/registrations", ["robots"]);
  const views = robots.state === "ready" ? robots.value : undefined;
  const known = registrations.state === "ready" ? registrations.value : null;
  const isRefused = registrations.state === "failed";
  const joined = useMemo(() => (views === undefined ? [] : join(views, known, isRefused)), [views, known, isRefused]);
  return robots.state === "ready" ? { ...robots, value: joined } : robots;
}

/** The page of a robot: by its name, which people know, but where an address cannot have that as a part of its path, by its id. */
export function robotPath(name: string, id: string): string {
  const is_dots = name === "." || name === "..";
  return `/robots/${encodeURIComponent(is_dots ? id : name)}`;
}

function join(
  views: readonly RobotView[],
  registrations: Registrations | null,
  isRefused: boolean,
): readonly RegisteredRobot[] {
  const byId = new Map(registrations?.items.map((item) => [item.robot_id, item]));
  const unknown = isRefused ? null : undefined;
  return views.map((view) => {
    const { configuration_digest = unknown, changed_at = unknown, contested_since = null } = byId.get(view.id) ?? {};
    return Object.assign({ configuration_digest, changed_at, contested_since }, view);
  });
}
