import type { Environment } from "../../client/transport/proxy.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { AgentUser } from "../access/agent-user.ts";
import type { CommandContext } from "../commands/context.ts";
import type { Folders } from "../configuration/folders.ts";
import type { StatusDocument } from "../status.ts";
import type { Check, CheckId, Examination } from "./check.ts";
import { fail } from "./check.ts";

/** What all checks of one diagnosis share. */
export interface Subject {
  readonly examination: Examination;
  /** With the environment of the running agent, where it can be read. */
  readonly context: CommandContext;
  readonly folders: Folders;
  readonly agentUser: AgentUser;
  readonly startedAtMs: number;
  /** The status of the running agent; null when none answers. */
  readonly status: StatusDocument | null;
  /** The environment of this command. */
  readonly shell: Environment;
}

/** Local checks take milliseconds, but can hang on a network drive. This bounds all of them together, … */
const LOCAL_LIMIT_MS = 8000;
/** … and this is the minimum for each, whatever those before it took. */
const LEAST_LIMIT_MS = 1000;

/** Runs a check of this machine, within the time that is left for those. @returns its value for later checks. */
export function examineHere<T>(
  { examination, context, startedAtMs }: Subject,
  id: CheckId,
  check: Check<T>,
): Promise<T | null> {
  const leftMs = startedAtMs + LOCAL_LIMIT_MS - context.machine.clock.monotonicMs();
  const limitMs = Math.max(LEAST_LIMIT_MS, leftMs);
  const what = `no result within ${Math.ceil(limitMs / 1000)} s`;
  const late = fail(EXIT.failed, what, "check for a hanging disk or network drive: dmesg");
  return examination.run(id, { limitMs, late }, check);
}

/** Skips checks that need the result of another one. */
export function skipAll({ examination }: Subject, ids: readonly CheckId[], needed: CheckId): void {
  for (const id of ids) examination.skip(id, `needs ${needed}`);
}
