/**
 * The agent for a command: the running one, through its control socket, or where none runs, one in this process that looks and acts the same
 * way until the command is done. So there is one loop, and it is the only writer of the state.
 */
import { within } from "../../platform/clock.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Machine } from "../../platform/machine.ts";
import type { Problem } from "../../platform/terminal.ts";
import { type AgentOptions, createAgent } from "../agent.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { type Document, readConfigurationNow } from "../configuration/documents.ts";
import { controlSocketPath, type Folders } from "../configuration/folders.ts";
import { holdPath } from "../hold.ts";
import { findDenials } from "../access/check-access.ts";
import { checkCommonName } from "../robot-setup.ts";
import { openOneShot } from "../one-shot.ts";
import { connect } from "../registration/connect.ts";
import { openState } from "../registration/registration.ts";
import type { StatusDocument } from "../status.ts";
import { askDaemon, askRunningAgent, NO_SOCKET, readRunningAgent } from "./client.ts";
import { lockState } from "./lock.ts";

export interface EitherAgent extends AsyncDisposable {
  /** True for the agent in this process. */
  readonly isHere: boolean;
  status(): Promise<StatusDocument | Problem>;
  /** As the methods of `Agent`; resolves with the status after the run that answers. */
  ask(what: "register" | "confirm" | "enroll"): Promise<StatusDocument | Problem>;
}

export type OpenedAgent =
  | { readonly kind: "agent"; readonly agent: EitherAgent }
  | { readonly kind: "problem"; readonly problem: Problem }
  /** There is no agent, and this configuration has errors. */
  | { readonly kind: "invalid"; readonly configuration: Document<AgentConfiguration> };

/** For what a registration tells the service beside itself. */
const PARTS_LIMIT_MS = 10_000;

/** For the agent in this process. */
export type HereOptions = Pick<AgentOptions, "kept" | "onProgress">;

export async function openAgent(
  folders: Folders,
  context: CommandContext,
  options: HereOptions = {},
): Promise<OpenedAgent> {
  const taken = await lockState(context.machine.files, folders.stateDirectory, context.userId);
  switch (taken.kind) {
    case "problem":
      return taken;
    case "lock": {
      const opened = await openHere(taken.lock, folders, context, options);
      if (opened.kind !== "agent") await taken.lock[Symbol.asyncDispose]();
      return opened;
    }
    // Members of the agent's group may ask it, but may not write its state.
    case "denied":
    case "held": {
      const status = await askRunningAgent(folders, context);
      if (!("fix" in status)) return { kind: "agent", agent: throughSocket(folders, context) };
      const isNobodyThere = taken.kind === "denied" && status.code === NO_SOCKET;
      return { kind: "problem", problem: isNobodyThere ? taken.problem : status };
    }
  }
}

function throughSocket(folders: Folders, { machine, signal }: CommandContext): EitherAgent {
  const ask = async (method: "GET" | "POST", what: string) =>
    readRunningAgent(await askDaemon(controlSocketPath(folders), method, `/${what}`, signal), folders, machine.files);
  return {
    isHere: false,
    status: () => ask("GET", "status"),
    ask: (what) => ask("POST", what),
    async [Symbol.asyncDispose]() {},
  };
}

async function openHere(
  lock: AsyncDisposable,
  folders: Folders,
  context: CommandContext,
  options: HereOptions,
): Promise<OpenedAgent> {
  const machine = forCommand(context.machine);
  const configuration = await readConfigurationNow(machine, folders.configPath);
  const initial = configuration.reading.value;
  if (initial === null) return { kind: "invalid", configuration };
  const state = await openState(machine, folders.stateDirectory, true);
  if (state.kind === "problem") return state;
  const common = checkCommonName(initial, machine.identity.hostname());
  if (common !== null) context.terminal.warning(common.message);
  // After registering files that root can read but the daemon cannot, the daemon would report them as unreadable.
  const looked = context.userId === 0 ? await openOneShot({ machine, folders, state: "unread" }) : null;
  const denials = looked?.kind === "opened" ? await findDenials(looked.oneShot, folders, context) : [];
  const agent = createAgent({
    machine,
    pending: { hanging: () => null },
    log: notesOf(context),
    version: context.version,
    processId: null,
    stateDirectory: folders.stateDirectory,
    holdPath: holdPath(folders),
    configuration,
    initial,
    registration: state.registration,
    connect: (current, ownCredential) => connect(current, { ...context, machine, folders }, ownCredential),
    denials,
    ...options,
  });
  const stop = () => agent.stop();
  context.signal.addEventListener("abort", stop);
  await agent.prepare();
  let running: Promise<void> | null = null;
  // The first run answers the first question. The agent ends before only by a bug or an interruption.
  const ask = async (what: "register" | "confirm" | "enroll") => {
    const answer = agent[what]();
    running ??= agent.run();
    const ended = running.then(() => {
      context.signal.throwIfAborted();
      throw new Error("The agent stopped by itself");
    });
    await Promise.race([answer, ended]);
    // Nobody sends them after this process.
    await within(agent.partsSent(), PARTS_LIMIT_MS, machine.clock, context.signal);
    return agent.status();
  };
  return {
    kind: "agent",
    agent: {
      isHere: true,
      status: async () => agent.status(),
      ask,
      async [Symbol.asyncDispose]() {
        agent.stop();
        context.signal.removeEventListener("abort", stop);
        await running;
        await lock[Symbol.asyncDispose]();
      },
    },
  };
}

/** Without watches, because a command is soon over, and without a word to systemd, which is told by the daemon. */
function forCommand(machine: Machine): Machine {
  return {
    ...machine,
    events: { watch: () => ({ close() {} }) },
    notify: { ready() {}, status() {}, stopping() {}, watchdog() {}, watchdogMs: null },
  };
}

/** What a person at a terminal wants to know of a log. */
function notesOf({ terminal }: CommandContext): Log {
  const note: Log["info"] = (event, fields) => {
    if (event === "robot-renamed") terminal.note("An operator renamed this robot.");
    if (event === "registration-lost") terminal.note(`Registering again: ${String(fields?.["detail"])}`);
  };
  const quiet = () => {};
  return { debug: quiet, info: note, notice: quiet, warn: note, error: quiet };
}
