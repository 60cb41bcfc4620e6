import type { RobotChange, RobotRemoved } from "../../api/robots.ts";
import { isoTime } from "../../platform/clock.ts";
import { presenceAt, revokeInstallationOf } from "../identity/index.ts";
import { answerValue, isAnswer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { announce, forgetReport } from "../webhooks/index.ts";
import { lockRobot, removeLabels, ROBOT_NAME_RULE, robotNameOf } from "./robots.ts";
import { findIdentifiedRobot, identifiedRobotView, type RobotViewsContext, UNKNOWN_ROBOT } from "./views.ts";
import { changeTimeNow, retireDeploymentOf } from "../deployments/index.ts";

/** `PATCH /v1/robots/{robot}`: id, installation, deployments and fleets stay. Its computer registers with the new name from then on. */
export function renameRobot(
  context: RobotViewsContext & Pick<OperationContext, "newId" | "nudge">,
): Handler<RobotChange> {
  const { newId, machine, nudge } = context;
  return async (call) => {
    const { organizationId } = call.principal;
    const name = robotNameOf(call.body.name);
    if (name === null) {
      return refuseInvalid([{ ...ruleBroken(ROBOT_NAME_RULE), loc: ["body", "name"], input: call.body.name }]);
    }
    const nowMs = machine.clock.wallMs();
    const author = authorship(call, newId, isoTime(nowMs));
    const claimId = newId("rob");
    const renamed = await call.write(async (transaction) => {
      const robot = await lockRobot(transaction, organizationId, call.path["robot"] ?? "");
      if (robot === undefined) return UNKNOWN_ROBOT;
      const { id, name: before } = robot;
      if (name !== before) {
        if (!(await claimName(transaction, robot, name, claimId))) {
          return refuse("Conflict", `Another robot is called ${JSON.stringify(name)}`);
        }
        await transaction.updateTable("robots").set({ name }).where("id", "=", id).execute();
        await audit(transaction, author, {
          action: "robot.rename",
          subjectId: id,
          details: { from: before, to: name },
        });
        await announce(transaction, context, {
          organizationId,
          type: "robot.renamed",
          at: author.at,
          data: () => ({ robot_id: id, name, name_before: before }),
        });
      }
      return { before, row: await findIdentifiedRobot(transaction, organizationId, id) };
    });
    if (isAnswer(renamed)) return renamed;
    const { before, row } = renamed;
    if (row === undefined) return UNKNOWN_ROBOT;
    if (before !== name) {
      logChange(machine, "robot_renamed", author, { robot_id: row.id, from: before, to: name });
      nudge();
    }
    return answerValue(identifiedRobotView(row, presenceAt(nowMs, context)));
  };
}

/**
 * Whether the name is free. A row that has it for a moment keeps registrations of that name waiting until the robot has it: an update
 * that meets one under way would fail, where an insert can see it.
 *
 * @param id of that row.
 */
async function claimName(
  transaction: Transaction,
  robot: Tables["robots"],
  name: string,
  id: string,
): Promise<boolean> {
  const claimed = await transaction
    .insertInto("robots")
    .values({ ...robot, id, name, contract: null, equipment: null, equipment_sha256: null, installation_id: null })
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .executeTakeFirst();
  if (claimed === undefined) return false;
  await transaction.deleteFrom("robots").where("id", "=", id).execute();
  return true;
}

/**
 * `DELETE /v1/robots/{robot}`: its computer loses its credential, its deployment retires, and its name is free. Its row stays for
 * history, usage and the fleets that it belongs to.
 */
export function removeRobot(context: OperationContext): Handler<null> {
  const { newId, machine, nudge } = context;
  return async (call) => {
    const { organizationId } = call.principal;
    const moment = changeTimeNow(context);
    const { now: at } = moment;
    const author = authorship(call, newId, at);
    const retiring = { ...author, auditId: newId("aud") };
    const removed = await call.write(async (transaction) => {
      const robot = await lockRobot(transaction, organizationId, call.path["robot"] ?? "");
      if (robot === undefined) return null;
      const { id: robotId, name } = robot;
      const deploymentId = await retireDeploymentOf(transaction, organizationId, robotId, moment);
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
