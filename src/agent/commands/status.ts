import type { Problem, Terminal } from "../../platform/terminal.ts";
import { type Changes, describeChanges } from "../changes.ts";
import { controlSocketPath, type Folders, hasStandardState, resolveFolders } from "../configuration/folders.ts";
import { askDaemon, readRunningAgent } from "../control/client.ts";
import type { HoldStatus } from "../hold.ts";
import { LOOK_NAME, readServiceUnit } from "../../access/unit.ts";
import { systemPrograms } from "../../platform/programs.ts";
import { statusFromDisk } from "../one-shot.ts";
import { statusBetweenLooks } from "../on-demand.ts";
import { exitCodeOf, statusProblem, summaryAboveFindings } from "../states.ts";
import type { ConfirmationStatus, IdentityStatus, StatusDocument, TimerStatus } from "../status.ts";
import type { Command, CommandContext, CommonOptions } from "./context.ts";
import { showFindings, showProblem } from "./show.ts";

export interface StatusOptions extends CommonOptions {
  /** Show the status again at each change until interrupted; as JSON, one document per line. */
  readonly watch?: boolean;
}

/** How often `--watch` asks the daemon, which answers from memory. */
const WATCH_PERIOD_MS = 1000;

/** `status`: shows the status of the daemon or, when none runs, of the state on disk. */
export const status: Command<StatusOptions> = async (options, context) => {
  const folders = resolveFolders(options, context.environment);
  let shown = "";
  for (;;) {
    const found = await look(folders, context);
    if ("fix" in found) {
      if (shown === "") return showProblem(found, {}, options, context.terminal);
      // The daemon may be starting again.
      if (shown !== found.what) context.terminal.note(`${found.what}; trying again`);
      shown = found.what;
    } else {
      const lasting = lastingPart(found);
      if (lasting !== shown) await show(found, options, context);
      shown = lasting;
      if (options.watch !== true) return exitCodeOf(found);
    }
    await context.machine.clock.sleep(WATCH_PERIOD_MS, context.signal);
  }
};

/** What `--watch` compares: not what differs in each answer, as the time of the next confirmation does by a millisecond. */
export function lastingPart({ identity, daemon, timer, failure, confirmation, ...rest }: StatusDocument): string {
  return JSON.stringify({
    ...rest,
    identity: identity === null ? null : { ...identity, last_heartbeat_at: null },
    daemon: daemon?.process_id,
    timer: timer === null ? null : { ...timer, last_look_at: null, next_look_at: null },
    failure: failure?.detail,
    confirmation: confirmation === null ? null : { ...confirmation, next_at: null },
  });
}

async function look(folders: Folders, context: CommandContext): Promise<StatusDocument | Problem> {
  const answer = await askDaemon(controlSocketPath(folders), "GET", "/status", context.signal);
  if (answer.kind === "not-running") {
    const { files } = context.machine;
    const unit = hasStandardState(folders) ? await readServiceUnit(files, systemPrograms) : null;
    const timer = unit?.kind === "unit" && unit.timer?.isActive === true ? unit.timer : null;
    return timer === null ? statusFromDisk(folders, context) : statusBetweenLooks(timer, folders, context);
  }
  return readRunningAgent(answer, folders, context.machine.files);
}

async function show(document: StatusDocument, options: StatusOptions, context: CommandContext): Promise<void> {
  const { terminal } = context;
  if (options.json === true) {
    if (options.watch === true) terminal.jsonLine(document);
    else terminal.json(document);
    return;
  }
  if (document.service.url !== null) describe(document, context);
  await showFindings(document.findings, context);
  const problem = statusProblem(document);
  if (problem !== null) terminal.problem(problem);
}

/** Not shown when nothing is known of the robot: the configuration is invalid and there is no registration. */
function describe(document: StatusDocument, { terminal, machine }: CommandContext): void {
  const { registration, robot, watching, hold, changes, registered_changes: registeredChanges } = document;
  const nowMs = machine.clock.wallMs();
  const mark = terminal.style(document.healthy ? "good" : "bad", document.healthy ? "●" : "○");
  terminal.print(`${mark} ${summaryAboveFindings(document)}`);
  const { confirmation, identity, failure, state_problem: unsaved, timer } = document;
  terminal.table(
    ["", ""],
    [
      ["robot", `${robot.name}${robot.view === null ? "" : ` (${robot.view.id})`}`],
      ["type", robot.robot_type_id ?? "unknown"],
      ["service", document.service.url ?? "unknown"],
      [
        "registered",
        registration === null ? "never" : `${registration.registered_at}  ${registration.configuration_digest}`,
      ],
      ...rowsOf(registeredChanges, nowMs),
      ...rowOf("confirmed", confirmation && describeConfirmation(confirmation, terminal)),
      ...rowOf("identity", identity && describeIdentity(identity, document.state)),
      ["on disk", describeDisk(document, terminal)],
      ...rowsOf(changes, nowMs),
      ...rowOf("held", hold && describeHeld(hold)),
      ...rowOf("next attempt", failure && failure.next_attempt_at),
      ...rowOf("watching", watching && describeWatching(watching)),
      ...rowOf("watching", timer && describeTimer(timer)),
      ...rowOf("heartbeat", timer && timer.heartbeat_problem),
      ...rowOf("state", unsaved && `not saved: ${unsaved}; the next start checks with the service`),
    ],
  );
}

/** No row where there is no value. */
function rowOf(name: string, value: string | null): readonly (readonly string[])[] {
  return value === null ? [] : [[name, value]];
}

function rowsOf(changes: Changes | null, nowMs: number): readonly (readonly string[])[] {
  return changes === null ? [] : describeChanges(changes, nowMs).map((line) => ["", line]);
}

function describeWatching({ mode, reason, directories }: NonNullable<StatusDocument["watching"]>): string {
  if (mode === "polling") return `by polling: ${reason ?? ""}`;
  return `${directories} folder${directories === 1 ? "" : "s"} by events`;
}

function describeTimer({ last_look_at: lastAt, next_look_at: nextAt, last_result: result }: TimerStatus): string {
  if (lastAt === null || nextAt === null) return "by a timer, each minute; it has not looked yet";
  const isFine = result === "success" || result === "";
  const ended = isFine ? "" : ` (ended: ${result}; see journalctl -u ${LOOK_NAME})`;
  return `by a timer, each minute: last at ${lastAt}${ended}, next at ${nextAt}`;
}

function describeHeld({ held_by: heldBy, reason, until }: HoldStatus): string {
  return `by ${heldBy} until ${until}${reason === null ? "" : `: ${reason}`}`;
}

function describeConfirmation(
  { confirmed_at: confirmedAt, problem, next_at: nextAt }: ConfirmationStatus,
  terminal: Terminal,
): string {
  const when = confirmedAt ?? "not since the agent started";
  if (problem !== null) return terminal.style("warn", `${when}; since then: ${problem}; next check ${nextAt}`);
  return confirmedAt === null ? `${when}; next check ${nextAt}` : when;
}

/** Without what the summary tells, when the state of the agent is that of its identity. */
function describeIdentity(
  { state, user_code: code, key_fingerprint: fingerprint, last_heartbeat_at: seenAt, problem }: IdentityStatus,
  agentState: StatusDocument["state"],
): string {
  const words = state.replaceAll("-", " ");
  if (code !== null && state !== agentState) return `${words} of the code ${code}, key ${fingerprint ?? "unknown"}`;
  if (state !== "enrolled") return words;
  return `enrolled; last heartbeat ${seenAt ?? "not since the agent started"}${problem === null ? "" : `; ${problem}`}`;
}

function describeDisk(document: StatusDocument, terminal: Terminal): string {
  const { configuration_digest: digest, registration } = document;
  if (digest === null) return "unknown";
  if (registration === null) return digest;
  return digest === registration.configuration_digest ? "the same" : terminal.style("warn", `${digest} (differs)`);
}
