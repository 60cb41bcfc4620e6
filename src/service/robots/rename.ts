import type { RobotChange } from "../../api/robots.ts";
import { isoTime } from "../../platform/clock.ts";
import { presenceAt } from "../identity/index.ts";
import { answerValue, isAnswer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { announce } from "../webhooks/index.ts";
import { lockRobot } from "./queries.ts";
import { findIdentifiedRobot, identifiedRobotView, type RobotViewsContext, UNKNOWN_ROBOT } from "./views.ts";

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

const ROBOT_NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

/** The rule in words, for those who gave another name. */
export const ROBOT_NAME_RULE =
  "a robot has a name of 1 to 64 lower-case letters, digits and hyphens, with a letter or digit first and last";

/** The name of a robot as an operator gives it, at its enrolment or later; null if it can be none. */
export function robotNameOf(name: string): string | null {
  const cleaned = name.trim().toLowerCase();
  return ROBOT_NAME.test(cleaned) ? cleaned : null;
}
