import { maskWholeKeys } from "../../api/wire/service-key.ts";
import { openLogOutput } from "../../platform/log/log-output.ts";
import { createLog, type Log } from "../../platform/log/log.ts";
import { feedWatchdog } from "../../platform/systemd/notify.ts";
import { EXIT, type Problem } from "../../platform/terminal.ts";
import { type Agent, createAgent } from "../agent.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { controlSocketPath, type Folders, resolveFolders } from "../configuration/folders.ts";
import { type ReadDocument, readConfigurationNow } from "../configuration/documents.ts";
import { openState } from "../registration/registration.ts";
import { lockState, type TakenLock } from "../control/lock.ts";
import { createControlSocket } from "../control/socket.ts";
import { documentFindings } from "../findings.ts";
import { holdPath } from "../hold.ts";
import { connect } from "../registration/connect.ts";
import { trackFiles } from "../../platform/files/pending-files.ts";
import type { Command, CommandContext, CommonOptions } from "./context.ts";
import { showFindings } from "./show.ts";

/** `run`: the daemon, until SIGTERM. */
export const run: Command<CommonOptions> = async (options, context) => {
  const { terminal } = context;
  const pending = trackFiles(context.machine.files, context.machine.clock);
  const machine = { ...context.machine, files: pending.files };
  const folders = resolveFolders(options, context.environment);

  const begun = await begin(folders, { ...context, machine });
  if (begun === null) return context.signal.aborted ? EXIT.ok : EXIT.invalid;
  const { configuration, initial, taken } = begun;
  const refuse = (problem: Problem) => {
    terminal.problem(problem);
    return EXIT.failed;
  };
  if (taken.kind === "held")
    return refuse({
      code: "already-running",
      what: "another agent uses this state directory",
      where: folders.stateDirectory,
      fix: "show its status: robot-policy-agent status",
    });
  if (taken.kind !== "lock") return refuse(taken.problem);
  await using _lock = taken.lock;
  const state = await openState(machine, folders.stateDirectory, true);
  if (state.kind === "problem") return refuse(state.problem);

  const mask = (text: string) => maskWholeKeys(terminal.completeHint(text));
  const log = createLog(initial.log, mask, (onDropped) => openLogOutput(context, onDropped));
  await using control = createControlSocket(controlSocketPath(folders), log);
  const agent = createAgent({
    machine,
    pending,
    log,
    version: context.version,
    processId: context.processId,
    stateDirectory: folders.stateDirectory,
    holdPath: holdPath(folders),
    configuration,
    initial,
    registration: state.registration,
    connect: (current, ownCredential) => connect(current, { ...context, machine, folders }, ownCredential),
    onConfiguration: (current) => log.adjust(current.log),
    onResync: () => void control.open(agent),
  });
  await agent.prepare();
  // Before READY=1: a command that follows `systemctl start` must find the agent.
  await control.open(agent);
  machine.notify.ready("Starting");
  if (state.setAside !== null) log.warn("state-set-aside", { path: state.setAside });
  // Awaited here, because returning releases the lock.
  return await serve(agent, log, context);
};

interface Begun {
  readonly configuration: ReadDocument<AgentConfiguration>;
  /** The value of `configuration`. */
  readonly initial: AgentConfiguration;
  readonly taken: TakenLock;
}

/** @returns null when the configuration is invalid and the program does not wait for a valid one. */
async function begin({ configPath, stateDirectory }: Folders, context: CommandContext): Promise<Begun | null> {
  const lock = () => lockState(context.machine.files, stateDirectory, context.userId);
  // In parallel: both take a few milliseconds, the lock in another process.
  const [early, configuration] = await Promise.all([lock(), readConfigurationNow(context.machine, configPath)]);
  const { value } = configuration.reading;
  if (value !== null) return { configuration, initial: value, taken: early };
  // An agent that waits for a configuration does not hold the lock.
  if (early.kind === "lock") await early.lock[Symbol.asyncDispose]();
  const valid = await awaitConfiguration(configuration, context);
  return valid === null ? null : { ...valid, taken: await lock() };
}

async function serve(agent: Agent, log: Log, context: CommandContext): Promise<typeof EXIT.ok> {
  const { machine, signal } = context;
  const stop = () => {
    machine.notify.stopping();
    agent.stop();
  };
  // An abort before now is not told again.
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop);
  context.onHangup(() => {
    log.info("reload", { by: "SIGHUP" });
    agent.trigger();
  });
  void feedWatchdog(machine.notify, machine.clock, signal);
  await agent.run();
  log.info("stopped");
  return EXIT.ok;
}

/** How often an invalid configuration is read again. */
const LOOK_AGAIN_MS = 2000;

/**
 * Reports an invalid configuration, once for each edit. Under systemd, waits until it is valid: an agent that exits would be restarted with
 * the same messages until systemd gives up. At a terminal it does not wait.
 *
 * @returns null for an invalid configuration without systemd, and when the agent is stopped.
 */
async function awaitConfiguration(
  invalid: ReadDocument<AgentConfiguration>,
  context: Pick<CommandContext, "machine" | "signal" | "environment" | "terminal">,
): Promise<Omit<Begun, "taken"> | null> {
  const { machine, signal, environment } = context;
  const over = new AbortController();
  void feedWatchdog(machine.notify, machine.clock, AbortSignal.any([signal, over.signal]));
  let configuration = invalid;
  let shown = "";
  try {
    while (!signal.aborted) {
      const { value } = configuration.reading;
      if (value !== null) return { configuration, initial: value };
      const findings = documentFindings(configuration);
      if (shown !== JSON.stringify(findings)) {
        shown = JSON.stringify(findings);
        await showFindings(findings, context);
        if ((environment["NOTIFY_SOCKET"] ?? "") === "") return null;
        // READY=1, because nothing that starts after this agent should wait for an edit.
        machine.notify.ready(`Configuration is invalid; robot-policy-agent check says why: ${configuration.path}`);
      }
      await machine.clock.sleep(LOOK_AGAIN_MS, signal).catch(() => {});
      configuration = await readConfigurationNow(machine, configuration.path);
    }
    return null;
  } finally {
    over.abort();
  }
}
