import { errorCode } from "../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { invalidConfiguration, readConfigurationNow } from "../configuration/documents.ts";
import { controlSocketPath, type Folders, resolveFolders } from "../configuration/folders.ts";
import { askDaemon, askRunningAgent, daemonProblem } from "../control/client.ts";
import { lockState } from "../control/lock.ts";
import { openState, type Registration, registrationPath } from "../registration/registration.ts";
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

/** Problem codes: the name and the machine contradict what was asked for. */
const CONFLICTS: ReadonlySet<string> = new Set(["other-name", "same-name"]);

/**
 * `rebind`: registers this machine as a new robot after a copied image or a new name, or as the same robot after a new main board. The
 * registration file is renamed. A running agent then forgets the registration and registers again; otherwise the next start does.
 *
 * The command moves the file itself, because only a user with write access to the state directory may discard a registration. The control
 * socket is open to a group and does not give that right.
 */
export const rebind: Command<RebindOptions> = async (options, context) => {
  const { machine, terminal, userId } = context;
  const folders = resolveFolders(options, context.environment);
  const refuse = (problem: Problem, kept: string | null = null) => {
    const exitCode = showProblem(problem, { rebound: false, kept, was: null, status: null }, options, terminal);
    return CONFLICTS.has(problem.code) ? EXIT.conflict : exitCode;
  };
  const taken = await lockState(machine.files, folders.stateDirectory, userId);
  if ("problem" in taken) return refuse(taken.problem);
  await using _lock = taken.kind === "lock" ? taken.lock : null;
  const running = taken.kind === "held" ? await askRunningAgent(folders, context) : null;
  if (running !== null && "fix" in running) return refuse(running);

  const state = await openState(machine, folders.stateDirectory, running === null);
  if (state.kind === "problem") return refuse(state.problem);
  const { registration } = state;
  const was = registration?.request.name ?? running?.robot.view?.name ?? null;
  if (was === null) {
    if (options.json === true) terminal.json({ rebound: false, kept: null, was, status: null });
    else terminal.print("Nothing to rebind: this machine has no registration.");
    return EXIT.ok;
  }
  const conflict = registration === null ? null : await findConflict(registration, options, folders, context);
  if (conflict !== null) return refuse(conflict);

  const moved = await moveAside(folders, context);
  if ("fix" in moved) return refuse(moved);
  const { kept } = moved;
  const status = running === null ? null : await tellAgent(folders, context);
  if (status !== null && "fix" in status) {
    if (kept !== null)
      terminal.note(`The registration was moved (${kept}), but the running agent could not be told: run rebind again`);
    return refuse(status, kept);
  }
  if (options.json === true) terminal.json({ rebound: true, kept, was, status });
  else {
    const next = status === null ? " The next start or --setup registers this machine." : "";
    terminal.print(`Unbound from ${was}${kept === null ? "" : ` (kept as ${kept})`}.${next}`);
  }
  return status === null ? EXIT.ok : conclude(status, options, context);
};

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

/** Renames the registration. @returns its new path; null when there was none. */
async function moveAside(
  { stateDirectory }: Folders,
  { machine }: CommandContext,
): Promise<{ readonly kept: string | null } | Problem> {
  const path = registrationPath(stateDirectory);
  const kept = `${path}.rebound`;
  try {
    await machine.files.rename(path, kept);
    await machine.files.syncDirectory(stateDirectory);
    return { kept };
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return { kept: null };
    const what = `the state cannot be moved (${code ?? "unknown error"})`;
    return { code: "state-not-writable", what, where: path, fix: stateFix(code, stateDirectory) };
  }
}

/** Has the running agent forget the registration. @returns null when it ended meanwhile: its next start finds no registration. */
async function tellAgent(folders: Folders, { signal }: CommandContext): Promise<StatusDocument | Problem | null> {
  const path = controlSocketPath(folders);
  const answer = await askDaemon(path, "POST", "/rebind", signal);
  if (answer.kind === "not-running") return null;
  if (answer.kind === "answer" && isStatusDocument(answer.body)) return answer.body;
  if (answer.kind !== "answer" || answer.status !== 409) return daemonProblem(answer, path);
  return {
    code: "registration-rewritten",
    what: "the running agent wrote its registration again after the move",
    where: registrationPath(folders.stateDirectory),
    fix: "try again: robot-policy-agent rebind",
  };
}

function conclude(status: StatusDocument, { json }: RebindOptions, { terminal }: CommandContext): ExitCode {
  const { state, robot, service, summary } = status;
  if (state === "registered" && json !== true)
    terminal.print(`Registered ${robot.name} as ${robot.view?.id ?? "?"} at ${service.url ?? "?"}`);
  const problem = statusProblem(status);
  if (problem !== null) terminal.problem(problem);
  else if (exitCodeOf(status) !== EXIT.ok || state !== "registered") terminal.note(summary);
  return exitCodeOf(status);
}
