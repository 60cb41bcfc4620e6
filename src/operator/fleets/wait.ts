import type { FleetView } from "../../api/fleets.ts";
import type { Problem } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { OperatorContext } from "../context.ts";
import type { Service } from "../service.ts";
import type { Ended } from "../wait.ts";
import { waitUntilEnded } from "../wait.ts";
import type { FoundFleet } from "./find.ts";
import { fetchFleet } from "./find.ts";
import { blockerOf, countsAsBar, countsInWords, estimateInWords, statusInWords } from "./words.ts";

/** How a wait for a fleet ended, with the fleet's last state. */
export interface WaitedFleet extends Ended {
  readonly fleet: FoundFleet;
}

/**
 * Waits for a fleet that was created or updated.
 *
 * @param endOf null to keep waiting; else the result, for example that an operator has to act first.
 */
export async function waitForFleet(
  service: Service,
  first: FoundFleet,
  endOf: (fleet: FleetView) => Ended | null,
  timeoutMs: number,
  context: OperatorContext,
): Promise<Pick<WaitedFleet, "exitCode" | "fleet">> {
  let fleet = first;
  let isFirst = true;
  const { terminal } = context;
  const exitCode = await waitUntilEnded(
    service,
    {
      timeoutMs,
      later: `it continues without this command: robot-policy fleets show ${first.value.id}; --timeout waits longer`,
      async look() {
        const result = isFirst
          ? ({ kind: "ok", status: 200, value: first } as const)
          : await fetchFleet(service, first.value.id);
        isFirst = false;
        if (result.kind !== "ok") return result;
        fleet = result.value;
        const { value } = fleet;
        const told = [countsInWords(value.robots), updateInWords(value), estimateInWords(value), blockerOf(value)];
        const rest = told.filter((text) => text !== "").join("; ");
        return {
          kind: "ok",
          status: result.status,
          value: {
            lines: [
              `${value.name}  ${statusInWords(value, terminal)}  ${countsAsBar(value.robots, terminal)}`,
              `  ${rest}`,
            ],
            summary: `${value.name} is ${value.status}: ${rest}`,
            ended: endOf(value),
          },
        };
      },
    },
    context,
  );
  return { exitCode, fleet };
}

const DONE: Ended = { exitCode: EXIT.ok, problem: null };

/** For a new fleet: ready, or blocked until an operator acts. */
export function endOfCreation({ name, status, blocker, robots, active_model: activeModel }: FleetView): Ended | null {
  switch (status) {
    case "ready":
      return DONE;
    case "blocked":
      return needsPerson(name, "fleet-blocked", blocker ?? `${name} is blocked`);
    case "degraded":
      return needsPerson(name, "fleet-degraded", `${name} is degraded: ${countsInWords(robots)}`);
    case "preparing":
      // Everything is prepared; the fleet is only outside its operating windows.
      return activeModel?.status === "active" ? DONE : null;
  }
}

/** For an update: its generation is active, or blocked until an operator acts. */
export function endOfUpdate(generationId: string): (fleet: FleetView) => Ended | null {
  return ({ name, active_model: activeModel, update }) => {
    if (activeModel?.generation_id === generationId) return DONE;
    if (update?.generation_id !== generationId) {
      const what = `another update of ${name} replaced this one`;
      return { exitCode: EXIT.conflict, problem: { code: "superseded", what, fix: showFix(name) } };
    }
    if (update.status !== "blocked") return null;
    return needsPerson(name, "update-blocked", update.blocker ?? `the update of ${name} is blocked`);
  };

  function showFix(name: string): string {
    return `robot-policy fleets show ${shellWord(name)} shows the current update`;
  }
}

function needsPerson(name: string, code: string, what: string): Ended {
  const fix = `robot-policy fleets show ${shellWord(name)} shows each robot`;
  const problem: Problem = { code, what, fix };
  return { exitCode: EXIT.rejected, problem };
}

function updateInWords({ update }: FleetView): string {
  return update === null || update === undefined ? "" : `update to ${update.subject}: ${update.status}`;
}
