import { operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { remarkOf, statusInWords } from "../fleet-words.ts";
import { keepListed } from "../listed.ts";
import type { OperatorContext } from "../operator.ts";
import { withService } from "../operator.ts";
import type { ListView } from "../list-columns.ts";
import type { ListFlags } from "../show-list.ts";
import { showList } from "../show-list.ts";

export interface FleetsListFlags extends ListFlags {
  readonly status?: string;
}

/** `fleets list`: every fleet, with what keeps it from being ready. */
export async function fleetsList(flags: FleetsListFlags, context: OperatorContext): Promise<ExitCode> {
  return withService(flags, context, (service) => {
    const load = async () => {
      const result = await service.listAll(operations.listFleets, (fleets) => fleets);
      if (result.kind !== "ok" || flags.status === undefined) return result;
      return { ...result, value: keepListed(result.value, ({ status }) => status === flags.status) };
    };
    return showList(service, load, fleetsView(context.terminal, flags), flags, context);
  });
}

function fleetsView(terminal: Terminal, { status }: FleetsListFlags): ListView<FleetView> {
  return {
    headers: ["name", "status", "ready", "model", "remark", "id"],
    prose: ["name", "remark", "model"],
    spare: ["id"],
    row: (fleet) => [
      fleet.name,
      statusInWords(fleet, terminal),
      // An active robot is ready and more.
      `${fleet.robots.ready + fleet.robots.active}/${fleet.robots.registered}`,
      fleet.subject,
      remarkOf(fleet),
      fleet.id,
    ],
    id: ({ id }) => id,
    empty: status === undefined ? "There are no fleets yet." : `No fleet is ${status}.`,
  };
}
