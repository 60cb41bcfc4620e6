import { beyondSpec, operations } from "../../api/api.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import type { Answered } from "../../client/operation-client.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { isUnknownOperation } from "../failure.ts";
import { refuseUnknown } from "../refuse.ts";
import type { Service } from "../service.ts";

export type FoundRobot = Pick<Answered<IdentifiedRobotView>, "value" | "document">;

/** Finds a robot by id or name. @returns an exit code after reporting that there is none. */
export async function findRobot(service: Service, name: string, terminal: Terminal): Promise<FoundRobot | ExitCode> {
  const result = await service.call(beyondSpec.getRobot, { parameters: { robot: name } });
  if (result.kind === "ok") return result.value;
  const isMissing = result.kind === "refused" && result.status === 404 && !isUnknownOperation(result);
  if (!isMissing && !isUnknownOperation(result)) return service.failed(result);
  if (!isMissing) {
    const listed = await service.listAll(operations.listRobots, (robots) => robots);
    if (listed.kind !== "ok") return service.failed(listed);
    const { records } = listed.value;
    const record = records.find(({ item }) => item.id === name) ?? records.find(({ item }) => item.name === name);
    if (record !== undefined) return { value: record.item, document: record.document };
  }
  const fix = "robot-policy robots list shows all robots";
  return refuseUnknown(`no robot has the name or id ${name}`, fix, terminal);
}
