import type { FleetView } from "../../api/fleets.ts";
import type { Problem } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { OperatorContext } from "../context.ts";
import type { Service } from "../service.ts";
import type { Ended } from "../wait.ts";
import { waitUntilEnded } from "../wait.ts";
import type { FoundFleet } from "./find.ts";
import { lookAtFleet } from "./find.ts";
import { blockerOf, countsAsBar, countsInWords, estimateInWords, statusInWords } from "./words.ts";

/** How a wait for a fleet ended, and the fleet as it was seen last. */
export interface WaitedFleet extends Ended {
  readonly fleet: FoundFleet;
}

/**
 * Waits for a fleet that was created or updated.
 *
 * @param endOf whether what is waited for has come, or will not come by itself.
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
      later: `it goes on without you: robot-policy fleets show ${first.value.id}; --timeout waits longer`,
      async look() {
        const result = isFirst
          ? ({ kind: "ok", status: 200, value: first } as const)
          : await lookAtFleet(service, first.value.id);
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

/** For a fleet that was created: ready, or it needs a person. */
export function endOfCreation({ name, status, blocker, robots, active_model: activeModel }: FleetView): Ended | null {
  switch (status) {
    case "ready":
      return DONE;
    case "blocked":
      return needsPerson(name, "fleet-blocked", blocker ?? `${name} is blocked`);
    case "degraded":
      return needsPerson(name, "fleet-degraded", `${name} is degraded: ${countsInWords(robots)}`);
    case "preparing":
      // Everything is prepared; what is left is the time of its next window.
      return activeModel?.status === "active" ? DONE : null;
  }
}

/** For an update to the generation that was answered: it is what the fleet works with, or it needs a person. */
export function endOfUpdate(generationId: string): (fleet: FleetView) => Ended | null {
  return ({ name, active_model: activeModel, update }) => {
    if (activeModel?.generation_id === generationId) return DONE;
    if (update?.generation_id !== generationId) {
      const what = `another update of ${name} took the place of this one`;
      return { exitCode: EXIT.conflict, problem: { code: "superseded", what, fix: showFix(name) } };
    }
    if (update.status !== "blocked") return null;
    return needsPerson(name, "update-blocked", update.blocker ?? `the update of ${name} is blocked`);
  };

  function showFix(name: string): string {
    return `robot-policy fleets show ${shellWord(name)} tells what it is updated to`;
  }
}

function needsPerson(name: string, code: string, what: string): Ended {
  const fix = `robot-policy fleets show ${shellWord(name)} tells it robot by robot`;
  const problem: Problem = { code, what, fix };
  return { exitCode: EXIT.rejected, problem };
}

function updateInWords({ update }: FleetView): string {
  return update === null || update === undefined ? "" : `update to ${update.subject}: ${update.status}`;
}
