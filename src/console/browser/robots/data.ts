import { useMemo } from "preact/hooks";

import type { InstallationView } from "../../../api/installations.ts";
import type { RegistrationSummary } from "../../../api/registrations.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import type { ListedRobot } from "../../../views/robots.ts";
import { type Data, useData } from "../data/query.ts";

/** All robots of the organization. */
export function useRobotViews(): Data<readonly IdentifiedRobotView[]> {
  return useData("/v1/robots", ["robots"]);
}

/** The same with their registrations, which load separately. */
export function useRobots(): Data<readonly ListedRobot[]> {
  const robots = useRobotViews();
  const registrations = useData<{ readonly items: readonly RegistrationSummary[] }>("/v1/me/registrations", ["robots"]);
  const views = robots.value;
  const known = registrations.value?.items;
  const isRefused = registrations.state === "failed";
  const joined = useMemo(() => {
    const byId = new Map(known?.map((item) => [item.robot_id, item]));
    const unknown = known === undefined && !isRefused ? undefined : null;
    return views?.map((view): ListedRobot => ({ view, registration: byId.get(view.id) ?? unknown })) ?? [];
  }, [views, known, isRefused]);
  return robots.state === "ready" ? { ...robots, value: joined } : robots;
}

/** The computer that speaks for a robot. */
export function useInstallation(robot: IdentifiedRobotView): Data<InstallationView> {
  return useData(installationPath(robot), ["robots"]);
}

export function installationPath({ id }: IdentifiedRobotView): string {
  return `${apiPath(id)}/installation`;
}

export function apiPath(robot: string): string {
  return `/v1/robots/${encodeURIComponent(robot)}`;
}

/** The page of a robot, by its name; by its id if the name is `.` or `..`, which URLs normalize away. */
export function robotPath(name: string, id: string): string {
  const isDots = name === "." || name === "..";
  return `/robots/${encodeURIComponent(isDots ? id : name)}`;
}

/** The page that compares a registration of the robot, by default the last one, with another robot or with the one before. */
export function differencesPath(
  name: string,
  id: string,
  asked: { readonly registration: string } | { readonly against: string },
): string {
  return `${robotPath(name, id)}/differences?${new URLSearchParams(asked).toString()}`;
}
