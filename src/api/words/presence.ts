import type { IdentifiedRobotView, RobotPresence } from "../robot-views.ts";

/** What is known of a robot; null if the service does not tell. Others may know `status` alone, ours of before too. */
export function presenceOf({
  presence,
  status,
  installation_id: installationId,
}: Pick<IdentifiedRobotView, "presence" | "status" | "installation_id">): RobotPresence | null {
  if (status === null || installationId !== null) return presence ?? status;
  return "not_monitored";
}
