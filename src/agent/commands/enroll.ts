import { errorCode } from "../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { invalidConfiguration } from "../configuration/documents.ts";
import { type Folders, resolveFolders } from "../configuration/folders.ts";
import { type EitherAgent, openAgent } from "../control/either-agent.ts";
import { discardApiKey, type DiscardedKey, startForTheFirstTime } from "../identity/after-enrolment.ts";
import { createIdentityFiles } from "../identity/identity-files.ts";
import { enrolmentFix, FIND_CAUSE, IDENTITY_UNREADABLE_FIX, stateFix } from "../remedies.ts";
import { exitCodeOfIdentity } from "../states.ts";
import { type IdentityStatus, NO_IDENTITY, type StatusDocument } from "../status.ts";
import type { Command, CommandContext, CommonOptions } from "./context.ts";
import { LOOK_PERIOD_MS, setup } from "./setup.ts";
import { showProblem } from "./show.ts";

export interface EnrollOptions extends CommonOptions {
  /** False to return once there is a code. */
  readonly wait?: boolean;
  /** Discard the API key once the robot has its own credential. */
  readonly migrate?: boolean;
}

/** The states from which only a fresh key leads back. */
const ENDED: ReadonlySet<IdentityStatus["state"]> = new Set(["unenrolled", "frozen", "lapsed"]);

/**
 * `enroll`: gets this robot a credential of its own, which an operator approves by a code. The running agent does the work; without one,
 * this command does, and then starts the agent of a fresh installation. Either goes on where the other stopped.
 */
export const enroll: Command<EnrollOptions> = async (options, context) => {
  const folders = resolveFolders(options, context.environment);
  const opened = await openAgent(folders, context);
  if (opened.kind !== "agent") {
    const problem = opened.kind === "problem" ? opened.problem : invalidConfiguration(opened.configuration);
    return showProblem(problem, { enrolled: false }, options, context.terminal);
  }
  const { isHere } = opened.agent;
  const exitCode = await enrollBy(opened.agent, folders, options, context);
  const mayStart = isHere && exitCode === EXIT.ok && options.wait !== false && options.json !== true;
  if (!mayStart || !(await startForTheFirstTime(folders, context))) return exitCode;
  return setup({ ...options, ifChanged: true }, context);
};

async function enrollBy(
  opened: EitherAgent,
  folders: Folders,
  options: EnrollOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, machine, signal } = context;
  await using agent = opened;
  let shown: string | null = null;
  let status = await begin(agent, folders, context);
  for (;;) {
    signal.throwIfAborted();
    if ("fix" in status) return showProblem(status, { enrolled: false }, options, terminal);
    const current = status.identity ?? NO_IDENTITY;
    const { state, user_code: code, problem: cause } = current;
    if (state === "enrolled") return await conclude(current, folders, options, context);
    if (state !== "waiting-for-approval") {
      const what = cause ?? "the service does not accept this robot";
      const fix = state === "identity-unreadable" ? IDENTITY_UNREADABLE_FIX : "to ask again: robot-policy-agent enroll";
      return refuse({ code: state, what, fix }, current, options, terminal);
    }
    if (code !== null && code !== shown) {
      if (options.json !== true) showCode(current, agent, options, terminal);
      shown = code;
    }
    if (code !== null && options.wait === false) {
      if (options.json === true) terminal.json(describe(current, null));
      return EXIT.ok;
    }
    if (code === null && cause !== null && options.wait === false) {
      const fix = agent.isHere
        ? `${FIND_CAUSE}; then run robot-policy-agent enroll again`
        : `the agent tries again by itself; ${FIND_CAUSE}`;
      return refuse({ code: "not-enrolled", what: cause, fix }, current, options, terminal);
    }
    if (code === null && cause !== null && cause !== shown) {
      terminal.note(`There is no code yet; another attempt follows by itself. ${cause}`);
      shown = cause;
    }
    await machine.clock.sleep(LOOK_PERIOD_MS, signal);
    status = await agent.status();
  }
}

/** Asks for an enrolment, unless the robot has a credential that is good, or one that waits. */
async function begin(agent: EitherAgent, folders: Folders, context: CommandContext): Promise<StatusDocument | Problem> {
  let status = await agent.ask("enroll");
  // Only the service knows whether a credential on the disk is still good.
  if (agent.isHere && !("fix" in status) && status.identity?.state === "enrolled") status = await agent.ask("confirm");
  if ("fix" in status || status.identity === null) return status;
  const { state, robot } = status.identity;
  // Without a credential there is nothing to discard: the agent begins anew by itself, or was denied just now.
  if (robot === null || !ENDED.has(state)) return status;
  try {
    await createIdentityFiles(context.machine.files, folders.stateDirectory).moveKeyAway();
  } catch (error) {
    const code = errorCode(error);
    const what = `the key that the service does not accept cannot be moved (${code ?? "unknown error"})`;
    const fix = stateFix(code, folders.stateDirectory);
    return { code: "state-not-writable", what, where: folders.stateDirectory, fix };
  }
  return agent.ask("enroll");
}

function refuse(problem: Problem, current: IdentityStatus, options: EnrollOptions, terminal: Terminal): ExitCode {
  showProblem(problem, describe(current, null), options, terminal);
  return exitCodeOfIdentity(current);
}

function showCode(
  {
    user_code: code,
    key_fingerprint: fingerprint,
    code_expires_at: expiresAt,
    waits_because: because,
    ...rest
  }: IdentityStatus,
  { isHere }: EitherAgent,
  { wait }: EnrollOptions,
  terminal: Terminal,
): void {
  terminal.table(
    ["", ""],
    [
      ["code", terminal.style("bold", code ?? "")],
      ["key", fingerprint ?? ""],
      ["expires", expiresAt ?? ""],
    ],
  );
  if (because !== null) terminal.note(`It waits because ${because}`);
  // One line, which the terminal wraps: then the command can be copied whole from a narrow one, too.
  const approval = enrolmentFix({ user_code: code, ...rest });
  terminal.print(`To approve: ${approval}. The key that the approver sees must be the one above.`);
  if (wait !== false)
    terminal.note(
      "Waiting for the approval. After an interruption it goes on with robot-policy-agent enroll, or once the agent runs.",
    );
  else if (isHere)
    terminal.note("No agent runs: once the code is approved, start it, or run robot-policy-agent enroll again.");
  else terminal.note("The agent goes on by itself once the code is approved.");
}

async function conclude(
  current: IdentityStatus,
  folders: Folders,
  options: EnrollOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const discarded = options.migrate === true ? await discardApiKey(folders, context) : null;
  const { key, problem } = discarded ?? { key: null };
  if (options.json === true) terminal.json(describe(current, key));
  else {
    const { robot, installation_id: installation } = current;
    terminal.print(`Enrolled as ${robot?.name ?? "?"} (${robot?.id ?? "?"}), installation ${installation ?? "?"}`);
    const removed = key?.isRemoved === true ? ` and was removed from ${key.path}` : "";
    if (key !== null)
      terminal.print(
        `The API key that ends in ${key.last4} is no longer used${removed}. Once no robot uses it, revoke it: robot-policy keys list; robot-policy keys revoke ID`,
      );
    if (problem !== undefined) terminal.problem(problem);
  }
  return problem === undefined ? EXIT.ok : EXIT.failed;
}

/** The document of `--json`. */
function describe(current: IdentityStatus, key: DiscardedKey["key"]) {
  const { state, user_code, key_fingerprint, code_expires_at, robot, installation_id } = current;
  return {
    enrolled: state === "enrolled",
    user_code,
    key_fingerprint,
    code_expires_at,
    robot,
    installation_id,
    api_key: key === null ? null : { last4: key.last4, path: key.path, removed: key.isRemoved },
  };
}
