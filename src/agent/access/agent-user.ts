import { type Access, type AccessProbe, probeAs, probeAsSelf } from "../../access/access.ts";
import { type Account, accountName, findServiceAccount } from "../../access/account.ts";
import type { OpenEntry } from "../../access/open-path.ts";
import { type FoundUnit, hiddenBy, readServiceUnit } from "../../access/unit.ts";
import { hiddenByUnit } from "../../look/findings.ts";
import { systemPrograms } from "../../platform/programs.ts";
import { octal } from "../../platform/text/octal.ts";
import { within } from "../../platform/clock.ts";
import type { CommandContext } from "../commands/context.ts";
import type { Folders } from "../configuration/folders.ts";

/**
 * The user that the agent runs as, seen from this process. Access checks of this process are valid for the agent only when both are the
 * same user, or when this process is root and can check as the agent's user.
 */
export interface AgentUser {
  readonly unit: FoundUnit;
  /** null when the user does not exist yet. */
  readonly account: Account | null;
  /** For messages. */
  readonly name: string;
  /** `same`: this process runs as that user. `root`: it can check as that user. `other`: neither. `absent`: the user does not exist yet. */
  readonly relation: "same" | "root" | "other" | "absent";
  /** Checks access as the agent's user; null for another user. */
  readonly probe: AccessProbe | null;
}

export async function findAgentUser(
  { machine, userId, signal }: Pick<CommandContext, "machine" | "userId" | "signal">,
  { stateDirectory }: Pick<Folders, "stateDirectory">,
): Promise<AgentUser> {
  const { files, clock } = machine;
  const runProgram = systemPrograms;
  const unit = await readServiceUnit(files, runProgram);
  const question = { files, runProgram, unit, stateDirectory, userId };
  const found = await within(findServiceAccount(question), ACCOUNT_LIMIT_MS, clock, signal);
  if (found === null) {
    const name = `the owner of ${stateDirectory}, which does not answer`;
    return { unit, account: null, name, relation: "other", probe: null };
  }
  const { account } = found;
  if (account === null) return { unit, ...found, relation: "absent", probe: probeAsSelf };
  const known = { unit, account, name: accountName(account) };
  if (account.userId === userId) return { ...known, relation: "same", probe: probeAsSelf };
  if (userId !== 0) return { ...known, relation: "other", probe: null };
  return { ...known, relation: "root", probe: probeAs(account, runProgram) };
}

/** Bounds a stat of the state directory on a hanging network drive; the programs that are run have their own limits. */
const ACCOUNT_LIMIT_MS = 5000;

export interface Denial {
  readonly what: string;
  readonly remedy: string;
}

/** Why the agent cannot read a file, and the command that fixes it; null when it can, when the file is missing, or when access is unknown. */
export function explainDenial(path: string, access: Access | undefined, { unit, name }: AgentUser): Denial | null {
  const setting = unit.kind === "unit" ? hiddenBy(unit.unit, path) : null;
  if (setting !== null) return hiddenByUnit(path, setting);
  if (access?.kind !== "blocked") return null;
  const [first, ...more] = access.obstacles;
  if (first === undefined) {
    const what = `Cannot read ${path}: the kernel denies ${name} access although modes and owners allow it`;
    return { what, remedy: "check security modules and mounts: aa-status; findmnt -T FILE" };
  }
  const beside = more.map((obstacle) => obstacle.path).join(", ");
  const and = beside === "" ? "" : `; nor ${beside}`;
  const perhaps = access.isPartial ? "; this user cannot see the folders below" : "";
  return {
    what: `Cannot read ${path}: ${name} may not ${describeObstacle(first)}${and}${perhaps}`,
    remedy: "sudo robot-policy-agent grant gives the agent access; --dry-run only shows the changes",
  };
}

function describeObstacle({ path, stat }: Pick<OpenEntry, "path" | "stat">): string {
  const verb = stat.kind === "directory" ? "enter" : "read";
  return `${verb} ${path} (mode ${octal(stat.mode & 0o777)}, of user ${stat.userId})`;
}
