import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { Answered } from "../../client/operation-client.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { isUnknownOperation } from "../failure.ts";
import type { Service } from "../service.ts";

/** A fleet, and what the service said of it. */
export type FoundFleet = Pick<Answered<FleetView>, "value" | "document">;

/** Ids are opaque, but ours are known at sight; others are looked up. */
const OUR_ID = /^fleet_[0-9a-z]{26}$/;

/** The fleet of this id, or else of this name; an exit code where there is none, or more than one, which was told. */
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
  const fix = "robot-policy fleets list shows what there is";
  if (first === undefined) {
    terminal.problem({ code: "not-found", what: `no fleet has the name or id ${name}`, fix });
    return EXIT.rejected;
  }
  const ids = [first, ...more].map(({ value }) => value.id).join(", ");
  const what = `${more.length + 1} fleets are called ${name}`;
  terminal.problem({ code: "ambiguous", what, fix: `name one by its id: ${ids}` });
  return EXIT.usage;
}

/** The fleet as it is now, also where the service shows no single one. */
export async function lookAtFleet(service: Service, id: string): Promise<CallResult<FoundFleet>> {
  const result = await service.call(beyondSpec.getFleet, { parameters: { fleet_id: id } });
  if (result.kind === "ok" || !isUnknownOperation(result)) return result;
  const listed = await service.listAll(operations.listFleets, (fleets) => fleets);
  if (listed.kind !== "ok") return listed;
  const record = listed.value.records.find(({ item }) => item.id === id);
  if (record === undefined) return result;
  return { ...listed, value: { value: record.item, document: record.document } };
}
