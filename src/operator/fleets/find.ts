import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { isUnknownOperation } from "../failure.ts";
import { onlyOne } from "../refuse.ts";
import type { Answer, Service } from "../service.ts";

/** An id of our own service needs no lookup by name. */
const OUR_ID = /^fleet_[0-9a-z]{26}$/;

/** Finds a fleet by id, else by name. @returns an exit code after reporting that there is none, or more than one. */
export async function findFleet(service: Service, name: string): Promise<Answer<FleetView> | ExitCode> {
  if (OUR_ID.test(name)) {
    const result = await service.call(beyondSpec.getFleet, { parameters: { fleet_id: name } });
    if (result.kind === "ok") return result.value;
    if (!isUnknownOperation(result)) return service.failed(result);
  }
  const result = await service.listAll(operations.listFleets, (fleets) => fleets);
  if (result.kind !== "ok") return service.failed(result);
  const { records } = result.value;
  const own = records.find(({ value }) => value.id === name);
  if (own !== undefined) return own;
  const named = records.filter(({ value }) => value.name === name);
  const words = {
    none: `no fleet has the name or id ${name}`,
    fix: "robot-policy fleets list shows all fleets",
    several: `fleets are named ${name}`,
  };
  return onlyOne(named, ({ value }) => value.id, words, service.terminal);
}

/** Fetches a fleet, from the list where the service has no operation for a single one. */
export async function fetchFleet(service: Service, id: string): Promise<CallResult<Answer<FleetView>>> {
  const result = await service.call(beyondSpec.getFleet, { parameters: { fleet_id: id } });
  if (result.kind === "ok" || !isUnknownOperation(result)) return result;
  const listed = await service.listAll(operations.listFleets, (fleets) => fleets);
  if (listed.kind !== "ok") return listed;
  const record = listed.value.records.find(({ value }) => value.id === id);
  return record === undefined ? result : { ...listed, value: record };
}
