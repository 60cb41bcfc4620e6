import { useMemo } from "preact/hooks";

import type { InstallationView } from "../../../api/installations.ts";
import type { RegistrationSummary } from "../../../api/registrations.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { type Data, useData } from "../data/query.ts";

/** A robot with the listed parts of its last registration: undefined before they are loaded, null if they cannot be. */
export interface RegisteredRobot extends IdentifiedRobotView {
  readonly configurationDigest: string | null | undefined;
  readonly changedAt: string | null | undefined;
  /** Since when two computers register its name in turn; null if they do not. */
  readonly contestedSince: string | null;
}

interface Registrations {
  readonly items: readonly RegistrationSummary[];
}

/** All robots of the organization. */
export function useRobotViews(): Data<readonly IdentifiedRobotView[]> {
  return useData("/v1/robots", ["robots"]);
}

/** The same with what the list of registrations tells. Their digests load separately. */
export function useRobots(): Data<readonly RegisteredRobot[]> {
  const robots = useRobotViews();
  const registrations = useData<Registrations>("/v1/me/registrations", ["robots"]);
  const views = robots.value;
  const known = registrations.value ?? null;
  const isRefused = registrations.state === "failed";
  const joined = useMemo(() => (views === undefined ? [] : join(views, known, isRefused)), [views, known, isRefused]);
  return robots.state === "ready" ? { ...robots, value: joined } : robots;
}

/** The computer that speaks for a robot. */
export function useInstallation(robot: IdentifiedRobotView): Data<InstallationView> {
  return useData(installationPath(robot), ["robots"]);
}

export function installationPath({ id }: IdentifiedRobotView): string {
  return `/v1/robots/${encodeURIComponent(id)}/installation`;
}

/** The page of a robot, by its name; by its id if the name is `.` or `..`, which URLs normalize away. */
export function robotPath(name: string, id: string): string {
  const isDots = name === "." || name === "..";
  return `/robots/${encodeURIComponent(isDots ? id : name)}`;
}

function join(
  views: readonly IdentifiedRobotView[],
  registrations: Registrations | null,
  isRefused: boolean,
): readonly RegisteredRobot[] {
  const byId = new Map(registrations?.items.map((item) => [item.robot_id, item]));
  const unknown = isRefused ? null : undefined;
  return views.map((view) => {
    const {
      configuration_digest: configurationDigest = unknown,
      changed_at: changedAt = unknown,
      contested_since: contestedSince = null,
    } = byId.get(view.id) ?? {};
    return Object.assign({ configurationDigest, changedAt, contestedSince }, view);
  });
}
