/** Who enrolls this robot for the command `enroll`: the running agent, or the command itself. */
import { once } from "node:events";
import { isDeepStrictEqual } from "node:util";

import { errorCode } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Problem } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import { daemonProblem, readRunningAgent } from "../control/running-agent.ts";
import { controlSocketPath, type Folders } from "../configuration/folders.ts";
import { invalidConfiguration, openState, readConfigurationNow, readManifestNow } from "../configuration/open.ts";
import { askDaemon } from "../control/client.ts";
import { connect } from "../registration/connect.ts";
import { keepRegistration } from "../registration/kept-registration.ts";
import type { IdentityStatus } from "../status.ts";
import { stateFix } from "../remedies.ts";
import { createIdentity } from "./identity.ts";
import { createIdentityFiles } from "./identity-files.ts";

export interface Enroller {
  /** Starts an enrolment, unless there is a credential that is good, or an enrolment that waits. */
  begin(): Promise<IdentityStatus | Problem>;
  look(): Promise<IdentityStatus | Problem>;
  /** Said by a command that does not wait. */
  readonly afterApproval: string;
  /** What a person does about a failure when such a command ends. */
  readonly afterFailure: string;
}

const FIND_CAUSE = "find the cause with: robot-policy-agent doctor";

/** The states from which only a fresh key leads back. */
const ENDED: ReadonlySet<IdentityStatus["state"]> = new Set(["unenrolled", "frozen", "lapsed"]);

export function enrollerThroughDaemon(folders: Folders, { machine, signal }: CommandContext): Enroller {
  const path = controlSocketPath(folders);

  async function ask(method: "GET" | "POST", route: string): Promise<IdentityStatus | Problem> {
    const answer = await askDaemon(path, method, route, signal);
    const status = await readRunningAgent(answer, folders, machine.files);
    if ("fix" in status) return status;
    return status.identity ?? daemonProblem({ kind: "failed", detail: "the agent has no identity" }, path);
  }

  return {
    async begin() {
      const before = await askDaemon(path, "GET", "/status", signal);
      const status = await readRunningAgent(before, folders, machine.files);
      if (!("fix" in status) && status.identity !== null && ENDED.has(status.identity.state)) {
        const problem = await discardKey(folders, machine.files);
        if (problem !== null) return problem;
      }
      return ask("POST", "/enroll");
    },
    look: () => ask("GET", "/status"),
    afterApproval: "The agent goes on by itself once the code is approved.",
    afterFailure: `the agent tries again by itself; ${FIND_CAUSE}`,
  };
}

/** The files and requests of an agent, for as long as the command runs. The caller holds the lock of the state directory. */
export async function enrollerAlone(
  folders: Folders,
  context: CommandContext,
): Promise<(Enroller & AsyncDisposable) | Problem> {
  const { machine, signal } = context;
  const configuration = await readConfigurationNow(machine, folders.configPath);
  const current = configuration.reading.value;
  if (current === null) return invalidConfiguration(configuration);
  const state = await openState(machine, folders.stateDirectory, false);
  if (state.kind === "problem") return state.problem;
  const connection = connect(current, { ...context, folders }, () => null);
  const manifest = (await readManifestNow(machine, current.manifest)).reading.value;
  const { stateDirectory } = folders;
  const identity = createIdentity({ machine, log: SILENT, version: context.version, stateDirectory, wake() {} });
  identity.use(current, connection);
  identity.report({
    robotTypeId: manifest?.robot_type_id ?? null,
    digest: null,
    isSettled: true,
    readiness: { problem: "The agent is not running", registeredDigest: null },
  });
  const ended = new AbortController();
  const running = identity.run(ended.signal);
  // Reported by whoever waits for it.
  running.catch(() => {});
  const ask = () => Promise.race([identity.enroll(), running, interruption(signal)]);
  async function look(): Promise<IdentityStatus | Problem> {
    // It may be edited while the command waits.
    const before = configuration.reading.value;
    await configuration.refresh(false);
    const { value } = configuration.reading;
    if (value !== null && !isDeepStrictEqual(value, before)) identity.use(value, connection);
    return identity.view().status ?? UNREADABLE;
  }
  return {
    async begin() {
      await identity.begin();
      const wasEnrolled = identity.view().approved !== null;
      // Only the service knows whether a credential on the disk is still good.
      identity.credentialRefused("unauthorized", true);
      await ask();
      const found = identity.view().status;
      if (!wasEnrolled || found === null || !ENDED.has(found.state)) return look();
      const problem = await discardKey(folders, machine.files);
      if (problem !== null) return problem;
      await ask();
      return look();
    },
    look,
    afterApproval: "No agent runs: once the code is approved, start it, or run robot-policy-agent enroll again.",
    afterFailure: `${FIND_CAUSE}; then run robot-policy-agent enroll again`,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await running;
      if (identity.view().enrolments > 0) await doubtRegistration(folders, machine);
      await connection.close();
    },
  };
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
const UNREADABLE: Problem = { code: "state-unreadable", what: "the identity cannot be read", fix: "run this as root" };

/** The service may have approved another robot than the registered one: the next start registers, and does not wait for its daily question. */
async function doubtRegistration({ stateDirectory }: Folders, machine: CommandContext["machine"]): Promise<void> {
  const state = await openState(machine, stateDirectory, false);
  if (state.kind === "state") await keepRegistration(machine.files, stateDirectory, state.registration).doubtDurably();
}

/** Rejects when the signal aborts. */
async function interruption(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, "abort");
  throw signal.reason;
}

async function discardKey(
  { stateDirectory }: Folders,
  files: CommandContext["machine"]["files"],
): Promise<Problem | null> {
  try {
    await createIdentityFiles(files, stateDirectory).moveKeyAway();
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
