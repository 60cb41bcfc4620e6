import type { RobotSetup } from "../../api/robots.ts";
import { answerJson } from "../http/answers.ts";
import { listRobots, upsertRobot } from "../store/robots.ts";
import type { RobotRow } from "../store/robots.ts";
import type { Handler, OperationContext } from "./operation.ts";

/** `POST /v1/robots/setup`: answers once the registration is on the disk. */
export function setupRobot({ store, newId, machine }: OperationContext): Handler<RobotSetup> {
  return async ({ principal, body, request_id }) => {
    const identity = { id: newId("rob"), now: new Date(machine.clock.wall_ms()).toISOString() };
    const robot = await store.write((transaction) =>
      upsertRobot(transaction, principal.organization_id, body, identity),
    );
    machine.log.info(robot.id === identity.id ? "robot_registered" : "robot_replaced", {
      request_id,
      key_id: principal.key_id,
      robot_id: robot.id,
      configuration_digest: body.configuration_digest,
    });
    return answerJson(`{"robot":${renderRobot(robot)}}`);
  };
}

/** `GET /v1/robots`: every robot of the organization, oldest first. */
export function listOrganizationRobots({ store }: OperationContext): Handler<null> {
  return async ({ principal }) => {
    const robots = await listRobots(store.reader, principal.organization_id);
    return answerJson(`[${robots.map(renderRobot).join(",")}]`);
  };
}

/**
 * The robot view of the contract. Written out, and the labels as they are stored, because parsing and copying would double
 * the work of a list.
 */
function renderRobot(robot: RobotRow): string {
  const members = [
    `"id":${JSON.stringify(robot.id)}`,
    `"name":${JSON.stringify(robot.name)}`,
    `"robot_type_id":${JSON.stringify(robot.robot_type_id)}`,
    `"region":${JSON.stringify(robot.region)}`,
    `"created_at":${JSON.stringify(robot.created_at)}`,
    `"site":${JSON.stringify(robot.site)}`,
    `"labels":${robot.labels}`,
  ];
  return `{${members.join(",")}}`;
}
