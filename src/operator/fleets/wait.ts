import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { CallResult } from "../../client/call-result.ts";
import { EXIT } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { estimateText, fleetRow, robotCounts } from "../../views/fleets.ts";
import { countsText, toneOf } from "../../views/view.ts";
import { isUnknownOperation } from "../failure.ts";
import { toned } from "../lists/shown.ts";
import type { Answer, Service } from "../service.ts";
import { type Ended, type Look, type Waited, waitUntilEnded } from "../wait.ts";

/** Of `--wait`. */
export const WAIT_SUMMARY =
  "wait until it is ready: exit 0, or 6 if it needs attention, 7 if another replaces it, 1 after --timeout";

/** Waits until a fleet that was created or updated is ready, or until an operator has to act first. */
export function waitForFleet(service: Service, first: Answer<FleetView>): Promise<Waited<Answer<FleetView>>> {
  const { terminal } = service;
  const { id, update } = first.value;
  const later = `it continues without this command: robot-policy fleets show ${id}; --timeout waits longer`;
  const look = ({ value }: Answer<FleetView>): Look => {
    const { name, status, blocker, update: now } = value;
    const counts = countsText(robotCounts(fleetRow(value, null)));
    const updating = now ? `update to ${now.subject}: ${now.status}` : "";
    const parts = [counts, updating, estimateText(value), blocker ?? now?.blocker ?? ""];
    const details = parts.filter((text) => text !== "").join("; ");
    const shown = toned(status, toneOf(status), terminal);
    return {
      lines: [`${name} is ${shown}: ${details}`],
      summary: `${name} is ${status}: ${details}`,
      ended: endOf(value, update?.generation_id ?? null),
    };
  };
  return waitUntilEnded(service, { first, fetch: () => fetchFleet(service, id), look, later: () => later });
}

/** Fetches a fleet, from the list where the service has no operation for a single one. */
async function fetchFleet(service: Service, id: string): Promise<CallResult<Answer<FleetView>>> {
  const result = await service.call(beyondSpec.getFleet, { parameters: { fleet_id: id } });
  if (result.kind === "ok" || !isUnknownOperation(result)) return result;
  const listed = await service.listAll(operations.listFleets, (fleets) => fleets);
  if (listed.kind !== "ok") return listed;
  const record = listed.value.records.find(({ value }) => value.id === id);
  return record === undefined ? result : { ...listed, value: record };
}

/**
 * How the wait ended; null while it goes on. Apart from an update in progress the status of the fleet decides alone: other services may tell
 * nothing else. A fleet with a schedule is ready from its first window on.
 *
 * @param updateId the generation of the update that is waited for; null for none.
 */
export function endOf(fleet: FleetView, updateId: string | null): Ended | null {
  const { name, status, blocker, update, active_model: activeModel } = fleet;
  if (updateId !== null && activeModel?.generation_id !== updateId) {
    if (update?.generation_id === updateId) {
      if (update.status !== "blocked") return null;
      return needsAttention(name, "update-blocked", update.blocker ?? `the update of ${name} is blocked`);
    }
    // A service that tells neither has finished the update.
    if (update || activeModel) {
      const what = `another update of ${name} replaced this one`;
      const fix = `robot-policy fleets show ${shellWord(name)} shows the current update`;
      return { exitCode: EXIT.conflict, problem: { code: "superseded", what, fix } };
    }
  }
  switch (status) {
    case "ready":
      return { exitCode: EXIT.ok, problem: null };
    case "blocked":
      return needsAttention(name, "fleet-blocked", blocker ?? `${name} is blocked`);
    case "degraded": {
      const counts = countsText(robotCounts({ fleet, waiting: null }));
      return needsAttention(name, "fleet-degraded", `${name} is degraded: ${counts}`);
    }
    case "preparing":
      return null;
  }
}

function needsAttention(name: string, code: string, what: string): Ended {
  const fix = `robot-policy fleets show ${shellWord(name)} shows each robot`;
  return { exitCode: EXIT.rejected, problem: { code, what, fix } };
}
