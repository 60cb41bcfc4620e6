import { beyondSpec, operations } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { isUnknownOperation } from "../failure.ts";
import type { Service } from "../service.ts";

/** What a service holds of a robot. */
export interface RegisteredRobot {
  readonly robot_type_id: string;
  readonly region: string;
  readonly site: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Undefined, as the contract, where the service does not show it. */
  readonly configuration_digest?: string;
  /** Null for none. */
  readonly contract?: Readonly<Record<string, unknown>> | null;
}

/** The robot of this name; null for none, "hidden" where the credential may not see robots, an exit code after telling a failure. */
export async function findRegistered(
  service: Service,
  name: string,
): Promise<RegisteredRobot | null | "hidden" | ExitCode> {
  const shown = await service.call(beyondSpec.getRegistration, { parameters: { robot: name } });
  // An id is taken for a name there.
  if (shown.kind === "ok") return shown.value.value.robot === name ? shown.value.value : null;
  const isShown = shown.kind !== "undecodable" && !isUnknownOperation(shown);
  if (isShown && shown.kind === "refused" && shown.status === 404) return null;
  if (isShown && !(shown.kind === "refused" && shown.status === 403)) return service.failed(shown);
  const listed = await service.listAll(operations.listRobots, (robots) => robots);
  if (listed.kind === "ok") return listed.value.records.find(({ item }) => item.name === name)?.item ?? null;
  return listed.kind === "refused" && listed.status === 403 ? "hidden" : service.failed(listed);
}
