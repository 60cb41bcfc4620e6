import { removeIfPresent, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { invalidConfiguration } from "../configuration/documents.ts";
import { controlSocketPath, type Folders, resolveFolders } from "../configuration/folders.ts";
import { type EitherAgent, openAgent } from "../control/either-agent.ts";
import { daemonProblem } from "../control/client.ts";
import { discardApiKey, type DiscardedKey, startForTheFirstTime } from "../identity/after-enrolment.ts";
import { createIdentityFiles } from "../identity/identity-files.ts";
import { approvalFix, enrolmentFix, FIND_CAUSE, IDENTITY_UNREADABLE_FIX, stateFix } from "../remedies.ts";
import { exitCodeOfIdentity } from "../states.ts";
import type { IdentityStatus, StatusDocument } from "../status.ts";
import type { Command, CommandContext, CommonOptions } from "./context.ts";
import { LOOK_PERIOD_MS, setup } from "./setup.ts";
import { showProblem } from "./show.ts";

export interface EnrollOptions extends CommonOptions {
  /** False to return once there is a code. */
  readonly wait?: boolean;
  /** Show the code on the console, before the login. */
  readonly issue?: boolean;
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
  switch (opened.kind) {
    case "problem":
      return refuse(opened.problem, options, context);
    case "invalid":
      return refuse(invalidConfiguration(opened.configuration), options, context);
    case "agent": {
      const { isHere } = opened.agent;
      const exitCode = await enrollBy(opened.agent, folders, options, context);
      const mayStart = isHere && exitCode === EXIT.ok && options.wait !== false && options.json !== true;
      if (!mayStart || !(await startForTheFirstTime(folders, context))) return exitCode;
      return setup({ ...options, ifChanged: true }, context);
    }
  }
};

/** Asks for an enrolment, unless the robot has a credential that is good, or one that waits. */
async function begin(agent: EitherAgent, folders: Folders, context: CommandContext): Promise<StatusDocument | Problem> {
  let status = await agent.ask("enroll");
  // Only the service knows whether a credential on the disk is still good.
  if (agent.isHere && !("fix" in status) && status.identity?.state === "enrolled") status = await agent.ask("confirm");
  if ("fix" in status || status.identity === null) return status;
  const { state, robot } = status.identity;
  // Without a credential there is nothing to discard: the agent begins anew by itself, or was denied just now.
  if (robot === null || !ENDED.has(state)) return status;
  return (await discardKey(folders, context)) ?? agent.ask("enroll");
}

async function discardKey({ stateDirectory }: Folders, { machine }: CommandContext): Promise<Problem | null> {
  try {
    await createIdentityFiles(machine.files, stateDirectory).moveKeyAway();
    return null;
  } catch (error) {
    const code = errorCode(error);
    return {
      code: "state-not-writable",
      what: `the key that the service does not accept cannot be moved (${code ?? "unknown error"})`,
      where: stateDirectory,
      fix: stateFix(code, stateDirectory),
    };
  }
}

async function enrollBy(
  opened: EitherAgent,
  folders: Folders,
  options: EnrollOptions,
  context: CommandContext,
): Promise<ExitCode> {
  await using agent = opened;
  await using issue = options.issue === true ? issueNotice(context.machine.files) : null;
  let shownCode: string | null = null;
  let shownProblem: string | null = null;
  let status = await begin(agent, folders, context);
  for (;;) {
    context.signal.throwIfAborted();
    if ("fix" in status) return refuse(status, options, context);
    const current = status.identity;
    if (current === null) {
      const what = "the agent has no identity";
      return refuse(daemonProblem({ kind: "failed", detail: what }, controlSocketPath(folders)), options, context);
    }
    if (current.state === "enrolled") return await conclude(current, folders, options, context);
    if (current.state !== "waiting-for-approval") return refuse(notAccepted(current), options, context, current);
    const { user_code: code, problem: cause } = current;
    if (code !== null && code !== shownCode) {
      shownCode = code;
      const problem = (await issue?.show(current)) ?? null;
      if (problem !== null) context.terminal.note(problem);
      if (options.json !== true) showCode(current, agent, options, context);
    }
    if (options.wait === false && code === null && cause !== null) {
      const fix = agent.isHere
        ? `${FIND_CAUSE}; then run robot-policy-agent enroll again`
        : `the agent tries again by itself; ${FIND_CAUSE}`;
      return refuse({ code: "not-enrolled", what: cause, fix }, options, context, current);
    }
    if (options.wait === false && code !== null) {
      if (options.json === true) context.terminal.json(describe(current, null));
      return EXIT.ok;
    }
    if (code === null && cause !== null && cause !== shownProblem) {
      shownProblem = cause;
      context.terminal.note(`There is no code yet; another attempt follows by itself. ${cause}`);
    }
    await context.machine.clock.sleep(LOOK_PERIOD_MS, context.signal);
    status = await agent.status();
  }
}

function showCode(
  current: IdentityStatus,
  { isHere }: EitherAgent,
  { wait }: EnrollOptions,
  { terminal }: CommandContext,
): void {
  const { user_code: code, key_fingerprint: fingerprint, code_expires_at: expiresAt, waits_because: because } = current;
  terminal.table(
    ["", ""],
    [
      ["code", terminal.style("bold", code ?? "")],
      ["key", fingerprint ?? ""],
      ["expires", expiresAt ?? ""],
    ],
  );
  if (typeof because === "string") terminal.note(`It waits because ${because}`);
  // One line, which the terminal wraps: then the command can be copied whole from a narrow one, too.
  terminal.print(`To approve: ${enrolmentFix(current)}. The key that the approver sees must be the one above.`);
  terminal.note(
    wait === false
      ? isHere
        ? "No agent runs: once the code is approved, start it, or run robot-policy-agent enroll again."
        : "The agent goes on by itself once the code is approved."
      : "Waiting for the approval. After an interruption it goes on with robot-policy-agent enroll, or once the agent runs.",
  );
}

async function conclude(
  current: IdentityStatus,
  folders: Folders,
  options: EnrollOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const discarded = options.migrate === true ? await discardApiKey(folders, context) : null;
  if (options.json === true) {
    terminal.json(describe(current, discarded));
    return discarded?.problem === undefined ? EXIT.ok : EXIT.failed;
  }
  terminal.print(
    `Enrolled as ${current.robot?.name ?? "?"} (${current.robot?.id ?? "?"}), installation ${current.installation_id ?? "?"}`,
  );
  if (discarded === null) return EXIT.ok;
  if (discarded.key !== null)
    terminal.print(
      `The API key that ends in ${discarded.key.last4} is no longer used${discarded.key.isRemoved ? ` and was removed from ${discarded.key.path}` : ""}. Once no robot uses it, revoke it: robot-policy keys list; robot-policy keys revoke ID`,
    );
  if (discarded.problem === undefined) return EXIT.ok;
  terminal.problem(discarded.problem);
  return EXIT.failed;
}

function describe(current: IdentityStatus, discarded: DiscardedKey | null): Record<string, unknown> {
  const { user_code: userCode, key_fingerprint: fingerprint, code_expires_at: expiresAt, robot } = current;
  return {
    enrolled: current.state === "enrolled",
    user_code: userCode,
    key_fingerprint: fingerprint,
    code_expires_at: expiresAt,
    robot,
    installation_id: current.installation_id,
    api_key: discarded?.key
      ? { last4: discarded.key.last4, path: discarded.key.path, removed: discarded.key.isRemoved }
      : null,
  };
}

function notAccepted({ state, problem, user_code: code }: IdentityStatus): Problem {
  const what = problem ?? "the service does not accept this robot";
  if (state === "identity-unreadable") return { code: state, what, fix: IDENTITY_UNREADABLE_FIX };
  return { code: state, what, fix: code === null ? "to ask again: robot-policy-agent enroll" : approvalFix(code) };
}

function refuse(
  problem: Problem,
  options: EnrollOptions,
  { terminal }: CommandContext,
  current: IdentityStatus | null = null,
): ExitCode {
  if (current === null) return showProblem(problem, { enrolled: false }, options, terminal);
  showProblem(problem, describe(current, null), options, terminal);
  return exitCodeOfIdentity(current);
}

/** Shown by agetty above the login of a console, for robots without a logged-in user (agetty(8)). */
const ISSUE_FOLDER = "/etc/issue.d";
const ISSUE_PATH = `${ISSUE_FOLDER}/robot-policy-agent.issue`;

/** A notice with the code, which disposing removes. */
export function issueNotice(files: Files) {
  return {
    /** @returns why it cannot be shown; null when it is. */
    async show({
      user_code: code,
      key_fingerprint: fingerprint,
      code_expires_at: expiresAt,
    }: IdentityStatus): Promise<string | null> {
      // The end is shown because the file stays when the power fails.
      const text = `This robot waits for approval until ${expiresAt ?? "?"}: code ${code ?? "?"}, key ${fingerprint ?? "?"}\n`;
      try {
        await files.makeDirectory(ISSUE_FOLDER, 0o755);
        await replaceDurably(files, ISSUE_PATH, Buffer.from(text), 0o644);
        return null;
      } catch (error) {
        const why = errorCode(error);
        if (why === undefined) throw error;
        return `${ISSUE_PATH} cannot be written (${why}); run this as root`;
      }
    },
    async [Symbol.asyncDispose]() {
      await removeIfPresent(files, ISSUE_PATH).catch(() => {});
    },
  };
}
