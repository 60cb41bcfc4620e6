import type { RobotRemoved } from "../../api/robots.ts";
import { changeTimeNow, retireDeploymentOf } from "../deployments/index.ts";
import { revokeInstallationOf } from "../identity/index.ts";
import { answerValue } from "../kernel/http/answers.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import { announce, forgetReport } from "../webhooks/index.ts";
import { removeLabels } from "./labels.ts";
import { lockRobot } from "./queries.ts";
import { UNKNOWN_ROBOT } from "./views.ts";

/**
 * `DELETE /v1/robots/{robot}`: its computer loses its credential, its deployment retires, and its name is free. Its row stays for
 * history, usage and the fleets that it belongs to.
 */
export function removeRobot(context: OperationContext): Handler<null> {
  const { newId, machine, nudge } = context;
  return async (call) => {
    const { organizationId } = call.principal;
    const time = changeTimeNow(context);
    const { now: at } = time;
    const author = authorship(call, newId, at);
    const retiring = { ...author, auditId: newId("aud") };
    const removed = await call.write(async (transaction) => {
      const robot = await lockRobot(transaction, organizationId, call.path["robot"] ?? "");
      if (robot === undefined) return null;
      const { id: robotId, name } = robot;
      const deploymentId = await retireDeploymentOf(transaction, organizationId, robotId, time);
      if (deploymentId !== null) {
        const details = { robot_id: robotId };
        await audit(transaction, retiring, { action: "deployment.retire", subjectId: deploymentId, details });
      }
      const installationId = await revokeInstallationOf(transaction, organizationId, robotId, at);
      await markRemoved(transaction, robotId, at);
      await forgetReport(transaction, robotId);
      const details = { name, installation_id: installationId, deployment_id: deploymentId };
      await audit(transaction, author, { action: "robot.remove", subjectId: robotId, details });
      const data = () => ({ robot_id: robotId, ...details });
      await announce(transaction, context, { organizationId, type: "robot.removed", at, data });
      return { robotId, details };
    });
    if (removed === null) return UNKNOWN_ROBOT;
    const { robotId, details } = removed;
    logChange(machine, "robot_removed", author, { robot_id: robotId, ...details });
    nudge();
    return answerValue({ robot_id: robotId, removed_at: at } satisfies RobotRemoved);
  };
}

/** Gives back what lists and selectors need of a robot. Its contract may be large, and nothing reads it any more. */
async function markRemoved(transaction: Transaction, robotId: string, at: string): Promise<void> {
  await removeLabels(transaction, robotId);
  await transaction
    .updateTable("robots")
    .set({ removed_at: at, labels: "{}", contract: null, equipment: null, equipment_sha256: null })
    .where("id", "=", robotId)
    .execute();
}
