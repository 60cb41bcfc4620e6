import type { DeploymentView } from "../../api/deployments.ts";
import { shortDuration } from "../../platform/text/relative-time.ts";

/** `pi0.5 on arm-7 (active for 3 d)`, for the middle of a sentence. */
export function deploymentText(deployment: DeploymentView, nowMs: number): string {
  const {
    id,
    model,
    subject_id: subjectId,
    robot,
    robot_id: robotId,
    status,
    created_at: createdAt,
    activated_at: activatedAt,
  } = deployment;
  const durationMs = nowMs - Date.parse(activatedAt ?? createdAt ?? "");
  const length = durationMs >= 0 ? ` for ${shortDuration(durationMs)}` : "";
  return `${model ?? subjectId ?? id} on ${robot ?? robotId ?? "its robot"} (${status}${length})`;
}
