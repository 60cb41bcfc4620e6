import { errorCode } from "../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { invalidConfiguration, readConfigurationNow } from "../configuration/documents.ts";
import { controlSocketPath, type Folders, resolveFolders } from "../configuration/folders.ts";
import { askDaemon, askRunningAgent, daemonProblem } from "../control/client.ts";
import { lockState } from "../control/lock.ts";
import { hasForeignIdentity } from "../identity/identity-files.ts";
import { openState } from "../registration/open-state.ts";
import { type Registration, registrationPath } from "../registration/registration.ts";
import { isOtherMachine } from "../registration/state-file.ts";
import { stateFix } from "../remedies.ts";
import { robotName } from "../robot-setup.ts";
import { exitCodeOf, statusProblem } from "../states.ts";
import { isStatusDocument, type StatusDocument } from "../status.ts";
import type { Command, CommandContext, CommonOptions } from "./context.ts";
import { showProblem } from "./show.ts";

export interface RebindOptions extends CommonOptions {
  /** Keep the identity: the same robot with a new main board. */
  readonly sameRobot?: boolean;
}

interface Rebound {
  /** The path to which the registration was moved; null when there was none. */
  readonly kept: string | null;
  /** The name that it was registered with; null when nothing is registered. */
  readonly was: string | null;
  /** The new status of the running agent; null when none runs. */
  readonly status: StatusDocument | null;
}

interface Refusal {
  readonly problem: Problem;
  /** As for `Rebound`, where only the running agent could not be told. */
  readonly kept?: string | null;
}

/** Problem codes: the name and the machine contradict what was asked for. */
const CONFLICTS: ReadonlySet<string> = new Set(["other-name", "same-name"]);

/** Bounds the retries when a running agent writes its state at the same time, which it does only after a registration. */
const ATTEMPTS = 5;

/**
 * `rebind`: registers this machine as a new robot after a copied image or a new name, or as the same robot after a new main board. The
 * registration file is renamed. A running agent then forgets the registration and registers again; otherwise the next start does.
 *
 * The command moves the file itself, because only a user with write access to the state directory may discard a registration. The control
 * socket is open to a group and does not give that right.
 */
export const rebind: Command<RebindOptions> = async (options, context) => {
  const folders = resolveFolders(options, context.environment);
  const taken = await lockState(context.machine.files, folders.stateDirectory, context.userId);
  if ("problem" in taken) return refuse(taken, options, context);
  await using _lock = taken.kind === "lock" ? taken.lock : null;
  const running = taken.kind === "held" ? await askRunningAgent(folders, context) : null;
  if (running !== null && "fix" in running) return refuse({ problem: running }, options, context);

  const state = await openState(context.machine, folders.stateDirectory, running === null);
  if (state.kind === "problem") return refuse(state, options, context);
  const { registration } = state;
  const was = registration?.request.name ?? running?.robot.view?.name ?? null;
  if (was === null) return conclude({ kept: null, was, status: null }, options, context);
  const problem = registration === null ? null : await findConflict(registration, options, folders, context);
  if (problem !== null) return refuse({ problem }, options, context);

  if (options.sameRobot === true) await tellOfIdentity(folders, context);
  const forgotten = await forget(running !== null, folders, context);
  return "problem" in forgotten
    ? refuse(forgotten, options, context)
    : conclude({ ...forgotten, was }, options, context);
};

function refuse(
  { problem, kept = null }: Refusal,
  options: RebindOptions,
  { terminal }: Pick<CommandContext, "terminal">,
): ExitCode {
  if (kept !== null)
    terminal.note(`The registration was moved (${kept}), but the running agent could not be told: run rebind again`);
  const exitCode = showProblem(problem, { rebound: false, kept, was: null, status: null }, options, terminal);
  return CONFLICTS.has(problem.code) ? EXIT.conflict : exitCode;
}

/**
 * Prevents two machines from registering under one name, where each would replace the registration of the other.
 *
 * @returns null when this machine may discard the registration.
 */
async function findConflict(
  registration: Registration,
  { sameRobot = false }: RebindOptions,
  { configPath }: Folders,
  { machine }: CommandContext,
): Promise<Problem | null> {
  const own = await machine.identity.machine();
  if (!isOtherMachine(registration, own) && !sameRobot) return null;
  const configuration = await readConfigurationNow(machine, configPath);
  const current = configuration.reading.value;
  if (current === null) {
    const what = "the configuration is invalid, so the name that this machine would register is unknown";
    return { ...invalidConfiguration(configuration), what };
  }
  const was = registration.request.name;
  const name = robotName(current, { hostname: machine.identity.hostname(), machine: own });
  if (sameRobot && name !== was) {
    return {
      code: "other-name",
      what: `this is not the same robot: it is registered as ${was}, but its name is now ${name}`,
      where: configPath,
      fix: "set robot.name or the hostname back; or omit --same-robot to register a new robot",
    };
  }
  if (sameRobot || name !== was) return null;
  return {
    code: "same-name",
    what: `another machine is registered as ${was}, and this one would register under the same name: the service would treat both as one robot`,
    where: configPath,
    fix: 'for a copied image, give this machine its own name first: sudo hostnamectl set-hostname NAME, or robot.name: "{hostname}-{machine_id}"; for a new main board in the same robot: robot-policy-agent rebind --same-robot',
  };
}

/** A credential belongs to the computer that it was issued to: another main board needs one of its own. */
async function tellOfIdentity({ stateDirectory }: Folders, { machine, terminal }: CommandContext): Promise<void> {
  const own = await machine.identity.machine();
  const isForeign = await hasForeignIdentity(machine.files, stateDirectory, own).catch((error: unknown) => {
    // A user who may not read these files learns it from the agent.
    if (errorCode(error) === undefined) throw error;
    return false;
  });
  if (isForeign) {
    terminal.note(
      "The credential of this robot stays with its old main board: get another one, under the same name, with: sudo robot-policy-agent enroll",
    );
  }
}

/**
 * Moves the registration aside, and has a running agent forget it, which the agent does only when the file is gone. If it wrote the file
 * again after the move, both steps are repeated.
 */
async function forget(
  isRunning: boolean,
  folders: Folders,
  context: CommandContext,
): Promise<Omit<Rebound, "was"> | Refusal> {
  const path = controlSocketPath(folders);
  let kept: string | null = null;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const moved = await moveAside(folders, context);
    if (moved !== null && typeof moved !== "string") return { problem: moved, kept };
    kept = moved ?? kept;
    if (!isRunning) return { kept, status: null };
    const answer = await askDaemon(path, "POST", "/rebind", context.signal);
    // The agent ended meanwhile: its next start finds no registration.
    if (answer.kind === "not-running") return { kept, status: null };
    if (answer.kind === "answer" && isStatusDocument(answer.body)) return { kept, status: answer.body };
    if (answer.kind !== "answer" || answer.status !== 409) return { problem: daemonProblem(answer, path), kept };
  }
  return { problem: rewritten(folders) };
}

/** @returns the new path of the registration; null when there is none. */
async function moveAside(
  { stateDirectory }: Folders,
  { machine, terminal }: CommandContext,
): Promise<string | null | Problem> {
  const path = registrationPath(stateDirectory);
  const kept = `${path}.rebound`;
  try {
    await machine.files.rename(path, kept);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return null;
    return {
      code: "state-not-writable",
      what: `the state cannot be moved (${code ?? "unknown error"})`,
      where: path,
      fix: stateFix(code, stateDirectory),
    };
  }
  try {
    await machine.files.syncDirectory(stateDirectory);
  } catch (error) {
    const code = errorCode(error);
    const what = `after a power cut the old registration may be back (${code ?? "unknown error"})`;
    terminal.warning(what, stateFix(code, stateDirectory));
  }
  return kept;
}

function rewritten({ stateDirectory }: Folders): Problem {
  return {
    code: "registration-rewritten",
    what: `the running agent wrote its registration again after each of ${ATTEMPTS} moves`,
    where: registrationPath(stateDirectory),
    fix: "stop the agent, then: robot-policy-agent rebind; and start it again",
  };
}

function conclude({ kept, was, status }: Rebound, { json }: RebindOptions, { terminal }: CommandContext): ExitCode {
  if (json === true) terminal.json({ rebound: was !== null, kept, was, status });
  else if (was === null) terminal.print("Nothing to rebind: this machine has no registration.");
  else {
    const next = status === null ? " The next start or --setup registers this machine." : "";
    terminal.print(`Unbound from ${was}${kept === null ? "" : ` (kept as ${kept})`}.${next}`);
  }
  if (status === null) return EXIT.ok;
  const { state, robot, service, summary } = status;
  if (state === "registered" && json !== true)
    terminal.print(`Registered ${robot.name} as ${robot.view?.id ?? "?"} at ${service.url ?? "?"}`);
  const problem = statusProblem(status);
  if (problem !== null) terminal.problem(problem);
  else if (exitCodeOf(status) !== EXIT.ok || state !== "registered") terminal.note(summary);
  return exitCodeOf(status);
}
