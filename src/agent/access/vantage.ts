import type { Access, AccessJudge, Obstacle } from "../../access/access.ts";
import { hasProc, judgeAs, judgeAsSelf } from "../../access/access.ts";
import type { Account } from "../../access/account.ts";
import { accountName, findServiceAccount } from "../../access/account.ts";
import type { FoundUnit } from "../../access/unit.ts";
import { hiddenBy, readServiceUnit } from "../../access/unit.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Machine } from "../../platform/machine.ts";
import { systemPrograms } from "../../platform/programs.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { Folders } from "../configuration/folders.ts";

/**
 * From where a command looks at the agent's files: what this process may read says something about the agent only where both are the
 * same user, or where this one may ask in the other's name.
 */
export interface Vantage {
  readonly unit: FoundUnit;
  /** The user the agent runs as; null where it is not made yet. */
  readonly account: Account | null;
  /** `own`: this process is that user. `root`: it can ask as that user. `stranger`: neither. `before`: there is no such user yet. */
  readonly standing: "own" | "root" | "stranger" | "before";
  /** null for a stranger, and where the kernel cannot be asked in another's name. */
  readonly judge: AccessJudge | null;
  /** For people. */
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

/** Programs that are asked have limits of their own; a folder on a network drive whose server is gone has none. */
const ACCOUNT_LIMIT_MS = 5000;

/** @returns null when the time is up. @throws the signal's reason. */
async function within<T>(work: Promise<T>, limitMs: number, clock: Clock, signal: AbortSignal): Promise<T | null> {
  const done = new AbortController();
  const over = clock.sleep(limitMs, AbortSignal.any([signal, done.signal])).then(() => null);
  try {
    return await Promise.race([work, over]);
  } finally {
    done.abort();
    over.catch(() => {});
  }
}

export interface Denial {
  readonly what: string;
  readonly remedy: string;
}

/**
 * Why the agent cannot read a file, and the command that mends it; null where it can, where it is not there, or where nobody could be asked.
 *
 * @param granted what `grant` opens: the files that the manifest lists, or one that it is told.
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
    return { what, remedy: "move the file, or change that: systemctl edit robot-policy-agent" };
  }
  if (access?.kind !== "blocked") return null;
  const [first, ...more] = access.obstacles;
  const remedy =
    granted === "listed"
      ? "sudo robot-policy-agent grant --dry-run shows the smallest right that it needs, grant gives it"
      : `sudo robot-policy-agent grant ${shellWord(path)} gives the smallest right that it needs; --dry-run only shows it`;
  if (first === undefined) {
    const what = `Cannot read ${path}: the kernel keeps ${agentName} from it, and modes and owners do not say why`;
    return { what, remedy: "look at security modules and mounts: aa-status; findmnt -T FILE" };
  }
  const beside = more.map((obstacle) => obstacle.path).join(", ");
  const and = beside === "" ? "" : `; nor ${beside}`;
  const perhaps = access.isPartial ? "; what is behind it this user cannot see" : "";
  return { what: `Cannot read ${path}: ${agentName} may not ${describeObstacle(first)}${and}${perhaps}`, remedy };
}

function describeObstacle({ path, isDirectory, stat }: Obstacle): string {
  const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
  return `${isDirectory ? "enter" : "read"} ${path} (mode ${mode}, of user ${stat.user_id})`;
}
