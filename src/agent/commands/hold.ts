import { userInfo } from "node:os";

import { errorCode } from "../../platform/files/files.ts";
import { removeIfPresent } from "../../platform/files/durable-file.ts";
import { runInForeground } from "../../platform/programs.ts";
import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { chosenDuration } from "../../platform/text/relative-time.ts";
import { type Folders, resolveFolders } from "../configuration/folders.ts";
import { describeHold, type Hold, holdPath, LONGEST_HOLD_MS, readHoldNow, writeHold } from "../hold.ts";
import type { CommandContext, CommonOptions } from "./context.ts";
import { showProblem } from "./show.ts";

export interface HoldOptions extends CommonOptions {
  /** How long, such as `30m`. */
  readonly for?: string;
  /** For whoever looks at the status. */
  readonly reason?: string;
}

const USUAL_MS = 30 * 60_000;
const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ["s", 1000],
  ["m", 60_000],
  ["h", 60 * 60_000],
]);

/**
 * `hold`: nothing is registered until `release`, or until its time is over. With a command: while that runs.
 *
 * @returns the exit code of the command that was run.
 */
export async function hold(options: HoldOptions, context: CommandContext, words: readonly string[]): Promise<number> {
  const { machine, terminal } = context;
  const { clock, files } = machine;
  const forMs = options.for === undefined ? USUAL_MS : parseDuration(options.for);
  if (forMs === null) {
    const what = `'${options.for ?? ""}' is no time that a hold can take`;
    const fix = `give at most ${LONGEST_HOLD_MS / 3_600_000}h, as in: --for 45m`;
    terminal.problem({ code: "usage", what, fix });
    return EXIT.usage;
  }
  const folders = resolveFolders(options, context.environment);
  const path = holdPath(folders);
  const heldBy = nameOf(context);
  const before = await readHoldNow(folders, context);
  if (before.kind === "held" && before.hold.heldBy !== heldBy) {
    return showProblem(heldByOther(before.hold, path, context), { hold: null }, options, terminal);
  }
  const sinceMs = clock.monotonicMs();
  const own: Hold = { heldBy, reason: options.reason ?? null, sinceMs, untilMs: sinceMs + forMs };
  try {
    await prepareFolder(folders, context);
    await writeHold(files, path, own);
  } catch (error) {
    return showProblem(notWritten(error, path), { hold: null }, options, terminal);
  }
  if (options.json === true) terminal.json({ hold: describeHold(own, clock) });
  else terminal.note(`Nothing is registered for ${chosenDuration(forMs)}, or until: robot-policy-agent release`);
  if (words.length === 0) return EXIT.ok;
  try {
    return await runInForeground(words, context.signal);
  } catch (error) {
    const what = `${words[0] ?? ""} cannot be started (${errorCode(error) ?? "unknown error"})`;
    terminal.problem({ code: "not-started", what, fix: "correct the command after --" });
    return EXIT.failed;
  } finally {
    await endOwn(own, folders, context);
  }
}

/** `release`: ends a hold. */
export async function release(options: CommonOptions, context: CommandContext): Promise<ExitCode> {
  const { machine, terminal } = context;
  const folders = resolveFolders(options, context.environment);
  const path = holdPath(folders);
  const before = await readHoldNow(folders, context);
  try {
    await removeIfPresent(machine.files, path);
  } catch (error) {
    return showProblem(notWritten(error, path), { released: null }, options, terminal);
  }
  const ended = before.kind === "held" ? describeHold(before.hold, machine.clock) : null;
  if (options.json === true) terminal.json({ released: ended });
  else terminal.print(ended === null ? "Nothing was held." : `Released what ${ended.held_by} held.`);
  return EXIT.ok;
}

/** Another hold may have taken the place of this one meanwhile. */
async function endOwn(own: Hold, folders: Folders, context: CommandContext): Promise<void> {
  const now = await readHoldNow(folders, context);
  if (now.kind === "held" && now.hold.sinceMs !== own.sinceMs) return;
  if (now.kind === "none")
    context.terminal.note("The hold had ended before; what was changed since may be registered.");
  await removeIfPresent(context.machine.files, holdPath(folders));
}

/** Systemd makes the folder when the agent starts; before that root can. */
async function prepareFolder({ runtimeDirectory }: Folders, { machine, userId }: CommandContext): Promise<void> {
  if (userId === 0) await machine.files.makeDirectory(runtimeDirectory, 0o1770);
}

function nameOf({ environment, userId }: CommandContext): string {
  const invoker = environment["SUDO_USER"] ?? "";
  if (invoker !== "") return invoker;
  try {
    return userInfo().username;
  } catch {
    // The user has no entry in the database of users.
    return `user ${userId}`;
  }
}

/** @returns null when the text is no time, or too long. */
function parseDuration(text: string): number | null {
  const [, digits = "", unit = ""] = /^(\d{1,6})([smh])$/.exec(text) ?? [];
  const durationMs = Number(digits) * (UNIT_MS.get(unit) ?? 0);
  return durationMs > 0 && durationMs <= LONGEST_HOLD_MS ? durationMs : null;
}

function heldByOther(other: Hold, where: string, { machine }: CommandContext): Problem {
  const { held_by: heldBy, reason, until } = describeHold(other, machine.clock);
  return {
    code: "held",
    what: `${heldBy} holds registrations until ${until}${reason === null ? "" : `: ${reason}`}`,
    where,
    fix: "wait, or end that hold: robot-policy-agent release",
  };
}

function notWritten(error: unknown, where: string): Problem {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const what = `the hold cannot be changed (${code})`;
  if (code === "ENOENT")
    return {
      code: "no-runtime-directory",
      what,
      where,
      fix: "start the agent, or run this as root, or give its --runtime-dir",
    };
  return {
    code: "hold-denied",
    what,
    where,
    fix: "run it as root, as who made the hold, or as a member of the group robot-policy-agent",
  };
}
