import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { CallResult } from "../../client/call-result.ts";
import { isUnknownOperation } from "../failure.ts";
import type { Resource } from "../find.ts";
import type { Answer, Service } from "../service.ts";

export const FLEET: Resource<FleetView> = {
  noun: "fleet",
  list: "fleets list",
  by: "name or id",
  // An id of our own service needs no lookup by name.
  get: { row: beyondSpec.getFleet, parameter: "fleet_id", takes: /^fleet_[0-9a-z]{26}$/ },
  load: (service) => service.listAll(operations.listFleets, (fleets) => fleets),
  idOf: ({ id }) => id,
  namesOf: ({ name }) => [name],
};

/** Fetches a fleet, from the list where the service has no operation for a single one. */
export async function fetchFleet(service: Service, id: string): Promise<CallResult<Answer<FleetView>>> {
  const result = await service.call(beyondSpec.getFleet, { parameters: { fleet_id: id } });
  if (result.kind === "ok" || !isUnknownOperation(result)) return result;
  const listed = await service.listAll(operations.listFleets, (fleets) => fleets);
  if (listed.kind !== "ok") return listed;
  const record = listed.value.records.find(({ value }) => value.id === id);
  return record === undefined ? result : { ...listed, value: record };
}
