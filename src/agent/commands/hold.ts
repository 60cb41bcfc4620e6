import { userInfo } from "node:os";

import { errorCode } from "../../platform/files/files.ts";
import { removeIfPresent } from "../../platform/files/durable-file.ts";
import { runInForeground } from "../../platform/programs.ts";
import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { chosenDuration } from "../../platform/text/relative-time.ts";
import { printable } from "../../client/printable.ts";
import { type Folders, resolveFolders } from "../configuration/folders.ts";
import {
  describeHold,
  type Hold,
  HOLDER_LIMIT,
  holdPath,
  type HoldReading,
  LONGEST_HOLD_MS,
  readHoldNow,
  REASON_LIMIT,
  writeHold,
} from "../hold.ts";
import type { CommandContext, CommonOptions } from "./context.ts";
import { showProblem } from "./show.ts";

export interface HoldOptions extends CommonOptions {
  /** How long at most, such as `30m`. */
  readonly for?: string;
  /** `status` shows it. */
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
  const { machine, terminal, userId } = context;
  const { clock, files } = machine;
  const forMs = options.for === undefined ? USUAL_MS : parseDuration(options.for);
  const reason = options.reason ?? null;
  const usage = (what: string, fix: string) => {
    terminal.problem({ code: "usage", what, fix });
    return EXIT.usage;
  };
  if (forMs === null)
    return usage(
      `'${options.for ?? ""}' is no time that a hold can take`,
      `give at most ${LONGEST_HOLD_MS / 3_600_000}h, as in: --for 45m`,
    );
  if (reason !== null && reason.length > REASON_LIMIT)
    return usage(
      `the reason has ${reason.length} characters, at most ${REASON_LIMIT} are kept`,
      "give a shorter --reason",
    );
  const folders = resolveFolders(options, context.environment);
  const where = holdPath(folders);
  const refuse = (problem: Problem) => showProblem({ ...problem, where }, { hold: null }, options, terminal);
  const heldBy = printable(nameOf(context), HOLDER_LIMIT);
  const before = await readHoldNow(folders, context);
  if (before.kind === "held" && before.hold.heldBy !== heldBy) {
    const { held_by: holder, reason: why, until } = describeHold(before.hold, clock);
    const what = `${holder} holds registrations until ${until}${why === null ? "" : `: ${why}`}`;
    return refuse({ code: "held", what, fix: "wait, or end that hold: robot-policy-agent release" });
  }
  const sinceMs = clock.monotonicMs();
  const own: Hold = { heldBy, reason, sinceMs, untilMs: sinceMs + forMs };
  try {
    // Systemd makes the folder when the agent starts; before that root can.
    if (userId === 0) await files.makeDirectory(folders.runtimeDirectory, 0o1770);
    await writeHold(files, where, own);
  } catch (error) {
    return refuse(notWritten(error));
  }
  // Nobody may calibrate in the belief that a hold is in force which the agent ignores.
  const written = await readHoldNow(folders, context);
  if (written.kind === "ignored") {
    await removeIfPresent(files, where);
    const fix = "correct the permissions of the runtime directory, or restart the agent, which does";
    return refuse({ code: "hold-ignored", what: written.finding.message, fix });
  }
  const isRenewed = words.length > 0 && options.for === undefined;
  const howLong = isRenewed ? `while ${printable(words[0] ?? "", 100)} runs` : `for ${chosenDuration(forMs)}`;
  if (options.json === true) terminal.json({ hold: describeHold(own, clock) });
  else terminal.note(`Nothing is registered ${howLong}, or until: robot-policy-agent release`);
  if (words.length === 0) return EXIT.ok;
  const ended = new AbortController();
  if (isRenewed) void renew(own, folders, context, ended.signal);
  try {
    return await runCommand(words, context);
  } finally {
    ended.abort();
    await endOwn(own, before, folders, context);
  }
}

async function runCommand(words: readonly string[], context: CommandContext): Promise<number> {
  try {
    context.signal.throwIfAborted();
    return await runInForeground(words, context.divertSignals);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const what = `${words[0] ?? ""} cannot be started (${code})`;
    context.terminal.problem({ code: "not-started", what, fix: "correct the command after --" });
    return EXIT.failed;
  }
}

/** Puts the end off while a command runs, so that after kill -9 the hold lasts no longer than any other. */
async function renew(own: Hold, folders: Folders, context: CommandContext, ended: AbortSignal): Promise<void> {
  const { clock, files } = context.machine;
  try {
    for (;;) {
      await clock.sleep(USUAL_MS / 2, ended);
      const now = await readHoldNow(folders, context);
      if (ended.aborted || now.kind !== "held") return;
      // One made meanwhile gives way to this one when it ends.
      if (now.hold.sinceMs !== own.sinceMs) continue;
      await writeHold(files, holdPath(folders), { ...own, untilMs: clock.monotonicMs() + USUAL_MS });
    }
  } catch (error) {
    if (!ended.aborted && errorCode(error) === undefined) throw error;
  }
}

/** Another hold may have taken the place of this one meanwhile. One in which the command ran goes on. */
async function endOwn(own: Hold, before: HoldReading, folders: Folders, context: CommandContext): Promise<void> {
  const { clock, files } = context.machine;
  const path = holdPath(folders);
  const now = await readHoldNow(folders, context);
  if (now.kind === "held" && now.hold.sinceMs !== own.sinceMs) return;
  if (now.kind === "none")
    context.terminal.note("The hold had ended before; what was changed since may be registered.");
  else if (before.kind === "held" && before.hold.untilMs > clock.monotonicMs()) {
    await writeHold(files, path, before.hold);
    return;
  }
  await removeIfPresent(files, path);
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
    return showProblem({ ...notWritten(error), where: path }, { released: null }, options, terminal);
  }
  const ended = before.kind === "held" ? describeHold(before.hold, machine.clock) : null;
  if (options.json === true) terminal.json({ released: ended });
  else terminal.print(ended === null ? "Nothing was held." : `Released what ${ended.held_by} held.`);
  return EXIT.ok;
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

const DENIED: ReadonlyMap<string, readonly [code: string, fix: string]> = new Map([
  ["ENOENT", ["no-runtime-directory", "start the agent, or run this as root, or give its --runtime-dir"]],
  ["EACCES", ["hold-denied", "run it as root, or as a member of the group robot-policy-agent"]],
  // The folder has the sticky bit, also for a hold whose time is over.
  ["EPERM", ["hold-denied", "another user made it; as root: robot-policy-agent release"]],
]);

function notWritten(error: unknown): Problem {
  const system = errorCode(error);
  if (system === undefined) throw error;
  const [code, fix] = DENIED.get(system) ?? ["hold-failed", "correct --runtime-dir, or make space on its disk"];
  return { code, what: `the hold cannot be changed (${system})`, fix };
}
