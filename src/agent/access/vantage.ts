import type { Access, AccessJudge, Obstacle } from "../../access/access.ts";
import { hasProc, judgeAs, judgeAsSelf } from "../../access/access.ts";
import type { Account } from "../../access/account.ts";
import { accountName, findServiceAccount } from "../../access/account.ts";
import type { FoundUnit } from "../../access/unit.ts";
import { hiddenBy, readServiceUnit } from "../../access/unit.ts";
import type { Machine } from "../../platform/machine.ts";
import { systemPrograms } from "../../platform/programs.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { within } from "../../platform/within.ts";
import type { Folders } from "../configuration/folders.ts";

/**
 * The user of this command relative to the agent's user. Access checks of this process are valid for the agent only when both are the
 * same user, or when this process is root and can check as the agent's user.
 */
export interface Vantage {
  readonly unit: FoundUnit;
  /** The user the agent runs as; null when it does not exist yet. */
  readonly account: Account | null;
  /** `own`: this process runs as that user. `root`: it can check as that user. `stranger`: neither. `before`: the user does not exist yet. */
  readonly standing: "own" | "root" | "stranger" | "before";
  /** Checks access as the agent's user; null for a stranger, and when /proc is not available for the check. */
  readonly judge: AccessJudge | null;
  /** Name of the agent's user in messages. */
  readonly agent_name: string;
}

export async function takeVantage(
  {
    machine,
    user_id: userId,
    signal,
  }: { readonly machine: Machine; readonly user_id: number; readonly signal: AbortSignal },
  { state_directory: stateDirectory }: Pick<Folders, "state_directory">,
): Promise<Vantage> {
  const { files, clock } = machine;
  const unit = await readServiceUnit(files, systemPrograms);
  const asked = findServiceAccount({
    files,
    runProgram: systemPrograms,
    unit,
    state_directory: stateDirectory,
    user_id: userId,
  });
  const found = await within(asked, ACCOUNT_LIMIT_MS, clock, signal);
  if (found === null) {
    const agentName = `the owner of ${stateDirectory}, which does not answer`;
    return { unit, account: null, standing: "stranger", judge: null, agent_name: agentName };
  }
  if (found.kind === "absent")
    return { unit, account: null, standing: "before", judge: judgeAsSelf, agent_name: found.name };
  const { account } = found;
  const agentName = accountName(account);
  if (account.user_id === userId) return { unit, account, standing: "own", judge: judgeAsSelf, agent_name: agentName };
  if (userId === 0 && !(await hasProc(files)))
    return { unit, account, standing: "root", judge: null, agent_name: agentName };
  if (userId === 0)
    return { unit, account, standing: "root", judge: judgeAs(account, systemPrograms), agent_name: agentName };
  return { unit, account, standing: "stranger", judge: null, agent_name: agentName };
}

/** Bounds a stat of the state directory on a hanging network drive; the programs that are run have their own limits. */
const ACCOUNT_LIMIT_MS = 5000;

export interface Denial {
  readonly what: string;
  readonly remedy: string;
}

/**
 * Why the agent cannot read a file, and the command that fixes it; null when it can, when the file is missing, or when access is unknown.
 *
 * @param granted how `grant` opens the file: as one listed by the manifest, or as an argument.
 */
export function explainDenial(
  path: string,
  access: Access | undefined,
  { unit, agent_name: agentName }: Vantage,
  granted: "listed" | "told" = "listed",
): Denial | null {
  const setting = unit.kind === "unit" ? hiddenBy(unit.unit, path) : null;
  if (setting !== null) {
    const what = `Cannot read ${path}: the unit hides it from the agent (${setting})`;
    return { what, remedy: "move the file, or change the setting: systemctl edit robot-policy-agent" };
  }
  if (access?.kind !== "blocked") return null;
  const [first, ...more] = access.obstacles;
  const remedy =
    granted === "listed"
      ? "sudo robot-policy-agent grant gives the agent access; --dry-run only shows the changes"
      : `sudo robot-policy-agent grant ${shellWord(path)} gives the agent access; --dry-run only shows the changes`;
  if (first === undefined) {
    const what = `Cannot read ${path}: the kernel denies ${agentName} access although modes and owners allow it`;
    return { what, remedy: "check security modules and mounts: aa-status; findmnt -T FILE" };
  }
  const beside = more.map((obstacle) => obstacle.path).join(", ");
  const and = beside === "" ? "" : `; nor ${beside}`;
  const perhaps = access.isPartial ? "; this user cannot see the folders below" : "";
  return { what: `Cannot read ${path}: ${agentName} may not ${describeObstacle(first)}${and}${perhaps}`, remedy };
}

function describeObstacle({ path, isDirectory, stat }: Obstacle): string {
  const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
  return `${isDirectory ? "enter" : "read"} ${path} (mode ${mode}, of user ${stat.user_id})`;
}
