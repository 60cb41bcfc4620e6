import { readServiceUnit, SERVICE_NAME } from "../../access/unit.ts";
import { systemPrograms } from "../../platform/programs.ts";
import type { CommandContext } from "../commands/context.ts";
import type { Folders } from "../configuration/folders.ts";
import { hasStandardState } from "../configuration/folders.ts";

/** Longer than TimeoutStartSec= of the unit. */
const START_LIMIT_MS = 70_000;

/**
 * Starts the unit of a freshly installed agent, which systemd skipped because there was no configuration. One that a person stopped stays so.
 *
 * @returns true when it runs now.
 */
export async function startForTheFirstTime(folders: Folders, { machine, terminal }: CommandContext): Promise<boolean> {
  if (!hasStandardState(folders)) return false;
  const found = await readServiceUnit(machine.files, systemPrograms);
  if (found.kind !== "unit" || found.unit.activeState !== "inactive" || !found.unit.conditionFailed) return false;
  const started = await systemPrograms(["systemctl", "start", SERVICE_NAME], { limitMs: START_LIMIT_MS });
  if (started.kind === "ended" && started.exitCode === 0) return true;
  terminal.note(`The agent does not run yet. Start it: sudo systemctl start ${SERVICE_NAME}`);
  return false;
}
