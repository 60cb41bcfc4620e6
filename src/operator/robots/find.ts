import { beyondSpec, operations } from "../../api/api.ts";
import type { RobotTextName } from "../../api/robot-texts.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { isNothingNamed, isUnknownOperation } from "../failure.ts";
import type { Resource } from "../find.ts";
import type { Service } from "../service.ts";

export const ROBOT: Resource<IdentifiedRobotView> = {
  noun: "robot",
  list: "robots list",
  by: "name or id",
  get: { row: beyondSpec.getRobot, parameter: "robot" },
  load: listRobots,
  idOf: ({ id }) => id,
  namesOf: ({ name }) => [name],
};

export function listRobots(service: Service) {
  return service.listAll(operations.listRobots, (robots) => robots);
}

/** A robot's registration at the service. */
export interface RegisteredRobot extends Readonly<Record<RobotTextName, string | null>> {
  readonly robot_type_id: string;
  readonly region: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Undefined, like the contract, where the service does not show it. */
  readonly configuration_digest?: string;
  /** Null for none. */
  readonly contract?: Readonly<Record<string, unknown>> | null;
  /** Undefined where another operation says it. */
  readonly installation_id?: string | null;
}

/** Finds a robot by name. @returns null for none, "hidden" where the credential may not see robots, an exit code after reporting a failure. */
export async function findRegistered(
  service: Service,
  name: string,
): Promise<RegisteredRobot | null | "hidden" | ExitCode> {
  const shown = await service.call(beyondSpec.getRegistration, { parameters: { robot: name } });
  // The operation accepts ids too, but `name` is never meant as an id.
  if (shown.kind === "ok") return shown.value.value.robot === name ? shown.value.value : null;
  if (isNothingNamed(shown)) return null;
  const isShown = shown.kind !== "undecodable" && !isUnknownOperation(shown);
  if (isShown && !(shown.kind === "refused" && shown.status === 403)) return service.failed(shown);
  const listed = await listRobots(service);
  if (listed.kind === "ok") return listed.value.records.find(({ value }) => value.name === name)?.value ?? null;
  return listed.kind === "refused" && listed.status === 403 ? "hidden" : service.failed(listed);
}
