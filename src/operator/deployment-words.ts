import type { DeploymentView } from "../api/deployments.ts";
import { shortDuration } from "../platform/relative-time.ts";

/** `pi0.5 on arm-7 (active for 3 d)`, for the middle of a sentence. */
export function deploymentInWords(deployment: DeploymentView, nowMs: number): string {
  const { id, model, subject_id, robot, robot_id, status, created_at, activated_at } = deployment;
  const durationMs = nowMs - Date.parse(activated_at ?? created_at ?? "");
  const length = durationMs >= 0 ? ` for ${shortDuration(durationMs)}` : "";
  return `${model ?? subject_id ?? id} on ${robot ?? robot_id ?? "its robot"} (${status}${length})`;
}
