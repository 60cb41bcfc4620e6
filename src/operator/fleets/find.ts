import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { Answered } from "../../client/operation-client.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { isUnknownOperation } from "../failure.ts";
import { refuseAmbiguous, refuseUnknown } from "../refuse.ts";
import type { Service } from "../service.ts";

/** A fleet, and the service's answer. */
export type FoundFleet = Pick<Answered<FleetView>, "value" | "document">;

/** An id of our own service needs no lookup by name. */
const OUR_ID = /^fleet_[0-9a-z]{26}$/;

/** Finds a fleet by id, else by name. @returns an exit code after reporting that there is none, or more than one. */
export async function findFleet(service: Service, name: string, terminal: Terminal): Promise<FoundFleet | ExitCode> {
  if (OUR_ID.test(name)) {
    const result = await service.call(beyondSpec.getFleet, { parameters: { fleet_id: name } });
    if (result.kind === "ok") return result.value;
    if (!isUnknownOperation(result)) return service.failed(result);
  }
  const result = await service.listAll(operations.listFleets, (fleets) => fleets);
  if (result.kind !== "ok") return service.failed(result);
  const fleets = result.value.records.map(({ item: value, document }): FoundFleet => ({ value, document }));
  const own = fleets.find(({ value }) => value.id === name);
  if (own !== undefined) return own;
  const [first, ...more] = fleets.filter(({ value }) => value.name === name);
  if (first !== undefined && more.length === 0) return first;
  const fix = "robot-policy fleets list shows all fleets";
  if (first === undefined) return refuseUnknown(`no fleet has the name or id ${name}`, fix, terminal);
  const ids = [first, ...more].map(({ value }) => value.id);
  return refuseAmbiguous(`${ids.length} fleets are named ${name}`, ids, terminal);
}

/** Fetches a fleet, from the list where the service has no operation for a single one. */
export async function fetchFleet(service: Service, id: string): Promise<CallResult<FoundFleet>> {
  const result = await service.call(beyondSpec.getFleet, { parameters: { fleet_id: id } });
  if (result.kind === "ok" || !isUnknownOperation(result)) return result;
  const listed = await service.listAll(operations.listFleets, (fleets) => fleets);
  if (listed.kind !== "ok") return listed;
  const record = listed.value.records.find(({ item }) => item.id === id);
  if (record === undefined) return result;
  return { ...listed, value: { value: record.item, document: record.document } };
}
