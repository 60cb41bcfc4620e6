import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { errorCode } from "../../platform/files/files.ts";
import { findDenials, withDenials } from "../access/check-access.ts";
import { controlSocketPath, type Folders, resolveFolders } from "../configuration/folders.ts";
import { askDaemon } from "../control/client.ts";
import { lockState } from "../control/lock.ts";
import { describeInvalid, describeOneShot, type OneShot, openOneShot } from "../one-shot.ts";
import { createReconciler } from "../reconciler.ts";
import { connect, type Connection } from "../registration/connect.ts";
import type { Registration } from "../registration/record.ts";
import { checkCommonName } from "../robot-setup.ts";
import { exitCodeOf, statusProblem } from "../states.ts";
import { isStatusDocument, type StatusDocument } from "../status.ts";
import { stateAfter, type Step } from "../step.ts";
import type { Command, CommandContext } from "./context.ts";
import { daemonProblem, NO_SOCKET, askRunningAgent } from "../control/running-agent.ts";
import { dryRun, type SetupOptions } from "./preview.ts";
import { hashProgress, showFindings, showProblem } from "./show.ts";

/** How often a running agent that enrolls is looked at. */
export const LOOK_PERIOD_MS = 500;

/** `--setup`: registers once and reports the result; through the daemon when one runs. */
export const setup: Command<SetupOptions> = async (options, context) => {
  const folders = resolveFolders(options, context.environment);
  if (options.dryRun === true) return dryRun(folders, options, context);
  const taken = await lockState(context.machine.files, folders.stateDirectory, context.userId);
  switch (taken.kind) {
    case "problem":
      return showProblem(taken.problem, {}, options, context.terminal);
    // Members of the agent's group may ask it to register, but may not write its state.
    case "denied":
    case "held": {
      const answer = await throughDaemon(folders, options, context);
      if ("fix" in answer) {
        const isNobodyThere = taken.kind === "denied" && answer.code === NO_SOCKET;
        return showProblem(isNobodyThere ? taken.problem : answer, {}, options, context.terminal);
      }
      return conclude(answer.status, options, context, answer.before);
    }
    case "lock": {
      await using _lock = taken.lock;
      return await withoutDaemon(folders, options, context);
    }
  }
};

async function withoutDaemon(folders: Folders, options: SetupOptions, context: CommandContext): Promise<ExitCode> {
  const { machine, terminal } = context;
  const opened = await openOneShot({ machine, folders, state: "mend", onProgress: hashProgress(terminal) });
  switch (opened.kind) {
    case "problem":
      return showProblem(opened.problem, {}, options, terminal);
    case "invalid":
      return conclude(await describeInvalid(opened.configuration, folders, context), options, context, null);
    case "opened": {
      const status = await alone(opened.oneShot, folders, options, context);
      context.signal.throwIfAborted();
      // Under the new name, which is read with everything else.
      if (status === "renamed") return withoutDaemon(folders, options, context);
      return conclude(status, options, context, opened.oneShot.registration);
    }
  }
}

async function alone(
  oneShot: OneShot,
  folders: Folders,
  options: SetupOptions,
  context: CommandContext,
): Promise<StatusDocument | "renamed"> {
  const common = checkCommonName(oneShot.collector.configuration, context.machine.identity.hostname());
  if (common !== null) context.terminal.warning(common.message);
  const denials = await findDenials(oneShot, folders, context);
  const { collector, registration } = oneShot;
  if (denials.length > 0)
    return describeOneShot(oneShot, "invalid", { findings: withDenials(collector.findings, denials) });
  const { machine, signal } = context;
  const connections = new Map<unknown, ReturnType<typeof connect>>();
  const connection = () => {
    const known = connections.get(collector.configuration) ?? connect(collector.configuration, { ...context, folders });
    connections.set(collector.configuration, known);
    return known;
  };
  const reconciler = createReconciler({
    machine,
    collector,
    stateDirectory: folders.stateDirectory,
    registration,
    connection,
    onRegistering() {},
    onLost(verdict) {
      if (verdict.kind === "lost") context.terminal.note(`Registering again: ${verdict.detail}`);
    },
  });
  const ifChanged = options.ifChanged === true;
  let step: Step;
  do {
    step = await reconciler.reconcile({ forced: !ifChanged, confirm: ifChanged, signal });
    if (step.kind === "unsettled") await machine.clock.sleep(step.waitMs, signal);
  } while (step.kind === "unsettled");
  // The service may have given an enrolled robot another name.
  const isNameRefused = step.kind === "failed" && step.failure.reason === "http-403";
  const isRenamed = isNameRefused && (await learnNewName(connection(), folders, context));
  for (const each of connections.values()) await each.close();
  return isRenamed ? "renamed" : describeOneShot(oneShot, stateAfter(step), reconciler);
}

async function learnNewName(connection: Connection, folders: Folders, context: CommandContext): Promise<boolean> {
  // Only enrolled robots need it.
  const { learnName } = await import("../identity/robot-name.ts");
  try {
    const isRenamed = await learnName(context.machine, folders.stateDirectory, connection, context.signal);
    if (isRenamed) context.terminal.note("An operator renamed this robot.");
    return isRenamed;
  } catch (error) {
    // The refusal tells the new name, too.
    if (errorCode(error) === undefined) throw error;
    return false;
  }
}

/** Registers through the daemon, which must stay the only writer of the state. */
async function throughDaemon(
  folders: Folders,
  options: SetupOptions,
  context: CommandContext,
): Promise<{ readonly status: StatusDocument; readonly before: StatusDocument["registration"] } | Problem> {
  const { signal } = context;
  const path = controlSocketPath(folders);
  const before = await askRunningAgent(folders, context);
  if ("fix" in before) return before;
  let route = options.ifChanged === true ? "/confirm" : "/register";
  for (;;) {
    const after = await askDaemon(path, "POST", route, signal);
    if (after.kind !== "answer" || !isStatusDocument(after.body)) return daemonProblem(after, path);
    if (!isEnrolling(after.body)) return { status: after.body, before: before.registration };
    const problem = await waitWhileEnrolling(folders, context);
    if (problem !== null) return problem;
    // The agent registers by itself once it is enrolled.
    route = "/confirm";
  }
}

async function waitWhileEnrolling(folders: Folders, context: CommandContext): Promise<Problem | null> {
  for (;;) {
    await context.machine.clock.sleep(LOOK_PERIOD_MS, context.signal);
    const status = await askRunningAgent(folders, context);
    if ("fix" in status) return status;
    if (!isEnrolling(status)) return null;
  }
}

/** An enrolment that needs no person so far: within seconds it ends, or has a code or a problem. */
function isEnrolling({ state, identity }: StatusDocument): boolean {
  return state === "waiting-for-approval" && identity?.user_code === null && identity.problem === null;
}

/** @param before the registration before this command. */
async function conclude(
  status: StatusDocument,
  options: SetupOptions,
  context: CommandContext,
  before: Pick<Registration, "registered_at"> | null,
): Promise<ExitCode> {
  const { terminal } = context;
  const { registration } = status;
  const registeredNow = registration !== null && registration.registered_at !== before?.registered_at;
  const unconfirmed = options.ifChanged === true && !registeredNow ? notConfirmed(status) : null;
  if (options.json === true) terminal.json({ ...status, registered_now: registeredNow });
  else {
    await showFindings(status.findings, context);
    if (registration !== null && status.state === "registered") {
      const verb = registeredNow ? "Registered" : unconfirmed === null ? "Already registered:" : "Was registered:";
      terminal.print(`${verb} ${status.robot.name} as ${status.robot.view?.id ?? "?"} at ${registration.service_url}`);
      terminal.print(`Configuration ${registration.configuration_digest}`);
    }
    if (status.state_problem !== null)
      terminal.note(`State not saved: ${status.state_problem}; the next start checks with the service.`);
  }
  const problem = statusProblem(status) ?? notYet(status) ?? unconfirmed;
  if (problem !== null) terminal.problem(problem);
  // These states exit 0 for a daemon, but this command was asked to register and has not.
  const isConcluded = status.state === "registered" || statusProblem(status) !== null;
  const code = isConcluded ? exitCodeOf(status) : EXIT.failed;
  return code === EXIT.ok && unconfirmed !== null ? EXIT.unreachable : code;
}

function notYet({ state, summary }: StatusDocument): Problem | null {
  if (state === "registered") return null;
  return {
    code: "not-yet",
    what: `not registered yet: ${summary}`,
    fix: "see how it goes with: robot-policy-agent status --watch",
  };
}

/** The problem when nothing changed here, but the service could not be asked whether it still has the registration. */
function notConfirmed({ state, confirmation, service }: StatusDocument): Problem | null {
  const why = confirmation?.problem ?? null;
  if (state !== "registered" || why === null) return null;
  return {
    code: "not-confirmed",
    what: `the service could not be asked whether it still has the registration: ${why}`,
    ...(service.url === null ? {} : { where: service.url }),
    fix: "find the cause with: robot-policy-agent doctor",
  };
}
