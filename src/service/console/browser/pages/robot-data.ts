import { useMemo } from "preact/hooks";

import type { RegistrationSummary } from "../../../../api/registrations.ts";
import type { RobotView } from "../../../../api/robot-views.ts";
import type { Data } from "../data/use-data.ts";
import { useData } from "../data/use-data.ts";

/** A robot, and of its last registration what a list shows; null before the service has told. */
export interface RegisteredRobot extends RobotView {
  readonly configuration_digest: string | null;
  readonly changed_at: string | null;
}

interface Registrations {
  readonly items: readonly RegistrationSummary[];
}

/** All robots of the organization, with the digest of each. They are shown without digests before those are there. */
export function useRobots(): Data<readonly RegisteredRobot[]> {
  const robots = useData<readonly RobotView[]>("/v1/robots", ["robots"]);
  const registrations = useData<Registrations>("/v1/me/registrations", ["robots"]);
  const views = robots.state === "ready" ? robots.value : undefined;
  const known = registrations.state === "ready" ? registrations.value : undefined;
  const joined = useMemo(() => (views === undefined ? [] : join(views, known)), [views, known]);
  return robots.state === "ready" ? { ...robots, value: joined } : robots;
}

/** The page of a robot: by its name, which people know, but where an address cannot have that as a part of its path, by its id. */
export function robotPath(name: string, id: string): string {
  const is_dots = name === "." || name === "..";
  return `/robots/${encodeURIComponent(is_dots ? id : name)}`;
}

function join(views: readonly RobotView[], registrations: Registrations | undefined): readonly RegisteredRobot[] {
  const by_id = new Map(registrations?.items.map((item) => [item.robot_id, item]));
  return views.map((view) => {
    const { configuration_digest = null, changed_at = null } = by_id.get(view.id) ?? {};
    return Object.assign({ configuration_digest, changed_at }, view);
  });
}
