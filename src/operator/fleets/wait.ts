import type { FleetView } from "../../api/fleets.ts";
import { EXIT, type Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { Answer, Service } from "../service.ts";
import { type Ended, type Look, type Waited, waitUntilEnded } from "../wait.ts";
import { fetchFleet } from "./find.ts";
import { blockerOf, countsAsBar, countsText, estimateText, statusText } from "./words.ts";

/** Of `--wait`. */
export const WAIT_SUMMARY =
  "wait until it is ready: exit 0, or 6 if it needs attention, 7 if another replaces it, 1 after --timeout";

/**
 * Waits for a fleet that was created or updated.
 *
 * @param endOf null to keep waiting; else the result, for example that an operator has to act first.
 */
export function waitForFleet(
  service: Service,
  first: Answer<FleetView>,
  endOf: (fleet: FleetView) => Ended | null,
): Promise<Waited<Answer<FleetView>>> {
  const { terminal } = service;
  const { id } = first.value;
  const later = `it continues without this command: robot-policy fleets show ${id}; --timeout waits longer`;
  const look = ({ value }: Answer<FleetView>): Look => {
    const { name, status, robots } = value;
    const parts = [countsText(robots), updateText(value), estimateText(value), blockerOf(value)];
    const details = parts.filter((text) => text !== "").join("; ");
    return {
      lines: [`${name}  ${statusText(value, terminal)}  ${countsAsBar(robots, terminal)}`, `  ${details}`],
      summary: `${name} is ${status}: ${details}`,
      ended: endOf(value),
    };
  };
  return waitUntilEnded(service, { first, fetch: () => fetchFleet(service, id), look, later: () => later });
}

const DONE: Ended = { exitCode: EXIT.ok, problem: null };

/** For a new fleet: ready, or blocked until an operator acts. One with a schedule is ready from its first window on. */
export function endOfCreation({ name, status, blocker, robots }: FleetView): Ended | null {
  switch (status) {
    case "ready":
      return DONE;
    case "blocked":
      return needsAttention(name, "fleet-blocked", blocker ?? `${name} is blocked`);
    case "degraded":
      return needsAttention(name, "fleet-degraded", `${name} is degraded: ${countsText(robots)}`);
    case "preparing":
      return null;
  }
}

/** For an update: its generation is active, or blocked until an operator acts. */
export function endOfUpdate(generationId: string): (fleet: FleetView) => Ended | null {
  return (fleet) => {
    const { name, active_model: activeModel, update } = fleet;
    if (activeModel?.generation_id === generationId)
      return activeModel.status === "active" ? DONE : endOfCreation(fleet);
    if (update?.generation_id !== generationId) {
      const what = `another update of ${name} replaced this one`;
      const fix = `robot-policy fleets show ${shellWord(name)} shows the current update`;
      return { exitCode: EXIT.conflict, problem: { code: "superseded", what, fix } };
    }
    if (update.status !== "blocked") return null;
    return needsAttention(name, "update-blocked", update.blocker ?? `the update of ${name} is blocked`);
  };
}

function needsAttention(name: string, code: string, what: string): Ended {
  const fix = `robot-policy fleets show ${shellWord(name)} shows each robot`;
  const problem: Problem = { code, what, fix };
  return { exitCode: EXIT.rejected, problem };
}

function updateText({ update }: FleetView): string {
  return update === null || update === undefined ? "" : `update to ${update.subject}: ${update.status}`;
}
