/**
 * `look`: what robot-policy-agent.timer runs each minute where no agent shall run in between. It compares the disk with the registration, as a
 * start of the agent does. Where nothing is to be done it writes nothing, and sends nothing but the heartbeat of an enrolled robot. All else
 * is done by the loop of the agent, in this process (control/either-agent.ts).
 */
import { maskWholeKeys } from "../../api/wire/service-key.ts";
import { openLogOutput } from "../../platform/log/log-output.ts";
import { type LogOptions, openLog } from "../../platform/log/log.ts";
import { EXIT, type Problem } from "../../platform/terminal.ts";
import { type Folders, resolveFolders } from "../configuration/folders.ts";
import { collectSettled, type OneShot, openOneShot, statusFromDisk } from "../one-shot.ts";
import { forgetMemory, type KeptFiles, keptFiles, type Memory, readMemory, see, writeMemory } from "../on-demand.ts";
import { FIRST_CONFIRMATION_MS } from "../registration/confirmation.ts";
import { type Connection, connect } from "../registration/connect.ts";
import { createCleanStop } from "../registration/state-file.ts";
import { createReporter } from "../reporter.ts";
import { STATES } from "../states.ts";
import type { AgentState, StatusDocument } from "../status.ts";
import type { Command, CommandContext, CommonOptions } from "./context.ts";

/** Below TimeoutStartSec= of the unit, so that a look that finds no end ends in order. The next one begins anew. */
const LIMIT_MS = 25_000;
const MINUTE_MS = 60_000;
/** For what the agent does about its identity beside its first run: it asks for the approval, or renews. */
const APPROVAL_LIMIT_MS = 3000;
const RENEWAL_LIMIT_MS = 10_000;
const POLL_MS = 200;
const UNANSWERED_MS = 15 * MINUTE_MS;

/** How long the same request is not sent again. Others are sent by each look: a minute is no burden. */
const PAUSES_MS: Partial<Record<AgentState, number>> = {
  unauthorized: 5 * MINUTE_MS,
  misconfigured: 5 * MINUTE_MS,
  frozen: 5 * MINUTE_MS,
  lapsed: 5 * MINUTE_MS,
  rejected: 60 * MINUTE_MS,
  conflict: 60 * MINUTE_MS,
  unenrolled: 60 * MINUTE_MS,
};

export const look: Command<CommonOptions> = async (options, given) => {
  const { clock } = given.machine;
  const [ended, late] = [new AbortController(), new AbortController()];
  const context = { ...given, signal: AbortSignal.any([given.signal, late.signal]) };
  // A disk that does not answer heeds no signal.
  const tooLong = clock.sleep(LIMIT_MS, ended.signal).then(
    () => "too-long" as const,
    () => EXIT.ok,
  );
  const looked = lookOnce(resolveFolders(options, context.environment), context);
  const result = await Promise.race([looked, tooLong]).finally(() => ended.abort());
  if (result !== "too-long") return result;
  late.abort();
  looked.catch(() => {});
  context.terminal.note("A file does not hold still, or a disk or the service does not answer; the next look goes on.");
  return EXIT.ok;
};

async function lookOnce(folders: Folders, context: CommandContext): Promise<typeof EXIT.ok | typeof EXIT.failed> {
  const memory = await readMemory(folders, context);
  const found = await find(memory, folders, context);
  // An agent runs and does all of it, or the same request was refused a short time ago.
  if (found === null) return EXIT.ok;
  if ("fix" in found) {
    context.terminal.problem(found);
    return EXIT.failed;
  }
  await report(found, memory, context);
  const { said, hasActed, ...next } = found;
  const isSame =
    memory !== null &&
    !hasActed &&
    said === keyOf(memory.status) &&
    (["confirmMs", "inputs", "untilMs", "heartbeatProblem", "kept"] as const).every(
      (name) => next[name] === memory[name],
    );
  if (!isSame) await writeMemory({ ...next, status: said === "" ? null : next.status }, folders, context);
  return EXIT.ok;
}

interface Result extends Memory {
  readonly status: StatusDocument;
  /** What of it is logged when it changes; empty where all is well. */
  readonly said: string;
  /** What the last look left is forgotten. */
  readonly hasActed: boolean;
  /** Of the registration before this look. */
  readonly registeredAt: string | null;
  readonly log: LogOptions;
}

async function find(
  memory: Memory | null,
  folders: Folders,
  context: CommandContext,
): Promise<Result | Problem | null> {
  const { machine, signal } = context;
  const [nowMs, startedMs] = [machine.clock.monotonicMs(), machine.clock.wallMs()];
  const opened = await openOneShot({
    machine,
    folders,
    state: "read",
    isTrusting: true,
    kept: memory?.kept?.files ?? [],
  });
  if (opened.kind === "problem") return opened.problem;
  const confirmMs = memory?.confirmMs ?? (await firstConfirmation(folders, context));
  const nothing = { confirmMs, inputs: "", untilMs: 0, heartbeatProblem: null, kept: null, hasActed: false };
  if (opened.kind === "invalid") {
    const status = await statusFromDisk(folders, context);
    if ("fix" in status) return status;
    const registeredAt = status.registration?.registered_at ?? null;
    return { ...nothing, status, said: keyOf(status), registeredAt, log: { level: "info", format: "json" } };
  }
  const { oneShot } = opened;
  const { configuration } = oneShot.collector;
  const connection = connect(configuration, { ...context, folders }, () => null);
  try {
    const seen = await see(oneShot, await collectSettled(oneShot, signal), connection, folders, context);
    const { isRenewing, problem: heartbeatProblem } = await beat(oneShot, connection, seen.status, context);
    const isDue = seen.status.state === "registered" && nowMs >= confirmMs;
    const registeredAt = oneShot.registration?.registered_at ?? null;
    const known = { ...nothing, heartbeatProblem, registeredAt, log: configuration.log };
    const kept = seen.status.state === "registered" ? null : keptFiles(oneShot, memory?.kept ?? null, startedMs);
    if (!seen.hasWork && !isDue && !isRenewing)
      return { ...known, kept, status: seen.status, said: keyOf(seen.status) };
    if (seen.inputs === memory?.inputs && nowMs < memory.untilMs) return null;
    const status = await act(isRenewing, oneShot, kept, folders, context);
    if (status === null || "fix" in status) return status;
    const pauseMs = PAUSES_MS[status.state] ?? 0;
    return {
      ...known,
      kept: status.state === "registered" ? null : kept,
      hasActed: true,
      confirmMs: nowMs + (untilConfirmation(status, machine.clock.wallMs()) ?? confirmMs - nowMs),
      inputs: pauseMs === 0 ? "" : seen.inputs,
      untilMs: pauseMs === 0 ? 0 : nowMs + pauseMs,
      status,
      said: keyOf(status),
    };
  } finally {
    await connection.close();
  }
}

/**
 * After a boot, or a look that was killed: as a start of the agent does, some minutes later, or now where the last request did not end in order,
 * so that the disk may lack the last registration.
 */
async function firstConfirmation({ stateDirectory }: Folders, { machine }: CommandContext): Promise<number> {
  const nowMs = machine.clock.monotonicMs();
  if (!(await createCleanStop(machine.files, stateDirectory).isLeft())) return nowMs;
  const [leastMs, mostMs] = FIRST_CONFIRMATION_MS;
  return nowMs + leastMs + machine.random.unit() * (mostMs - leastMs);
}

/** As the agent asks next; null where nothing is registered. Without an answer later than it would: each question reads every file. */
function untilConfirmation({ confirmation }: StatusDocument, wallMs: number): number | null {
  if (confirmation === null) return null;
  return confirmation.problem === null ? Date.parse(confirmation.next_at) - wallMs : UNANSWERED_MS;
}

/** The heartbeat of an enrolled robot. Without an answer the next look sends another. */
async function beat(
  { registration, identity: { credential } }: OneShot,
  { access, serviceUrl }: Connection,
  { state, summary }: StatusDocument,
  { version, signal }: CommandContext,
): Promise<{ readonly isRenewing: boolean; readonly problem: string | null }> {
  if (credential === null) return { isRenewing: false, problem: null };
  // Robots without a credential do not load this.
  const [{ describeHeartbeat }, { judgeHeartbeat }, { createIdentityClient }, { Secret }] = await Promise.all([
    import("../identity/heartbeats.ts"),
    import("../identity/answers.ts"),
    import("../../client/identity-client.ts"),
    import("../../client/secret.ts"),
  ]);
  const isHeld = registration !== null && !registration.in_doubt && registration.service_url === serviceUrl;
  const readiness = {
    problem: isHeld && STATES[state].problem === null ? null : summary,
    registeredDigest: registration?.request.configuration_digest ?? null,
  };
  const heartbeat = describeHeartbeat(readiness, version);
  const secret = new Secret(credential.installation_token);
  const result = await createIdentityClient(access).heartbeat(heartbeat, secret, signal);
  signal.throwIfAborted();
  if (result.kind === "ok") return { isRenewing: result.value.renew_after_s <= 0, problem: null };
  const verdict = judgeHeartbeat(result);
  return verdict.kind === "later"
    ? { isRenewing: false, problem: verdict.detail }
    : { isRenewing: true, problem: null };
}

/** The loop of the agent in this process, until it has an answer. @returns null where an agent runs already. */
async function act(
  isRenewing: boolean,
  oneShot: OneShot,
  kept: KeptFiles | null,
  folders: Folders,
  context: CommandContext,
): Promise<StatusDocument | Problem | null> {
  // A look that finds nothing does not load them.
  const [{ openAgent }, { register }] = await Promise.all([import("../control/either-agent.ts"), import("./setup.ts")]);
  const opened = await openAgent(folders, context, { kept: kept?.files });
  if (opened.kind === "problem") return opened.problem;
  if (opened.kind === "invalid") return statusFromDisk(folders, context);
  await using agent = opened.agent;
  if (!agent.isHere) return null;
  await forgetMemory(folders, context);
  const status = await register(agent, { ifChanged: true }, context);
  const isWaiting = !("fix" in status) && status.state === "waiting-for-approval";
  const limitMs = isRenewing ? RENEWAL_LIMIT_MS : isWaiting ? APPROVAL_LIMIT_MS : 0;
  const isNew = await hasNewCredential(oneShot, limitMs, folders, context);
  return !isNew || isRenewing ? status : await register(agent, { ifChanged: true }, context);
}

async function hasNewCredential(
  { collector, identity: { credential } }: OneShot,
  limitMs: number,
  folders: Folders,
  { machine, signal }: CommandContext,
): Promise<boolean> {
  const { clock } = machine;
  const { readOwnIdentity } = await import("../identity/identity-files.ts");
  const [url, machineId] = [collector.configuration.service.url, await machine.identity.machine()];
  for (const untilMs = clock.monotonicMs() + limitMs; clock.monotonicMs() < untilMs;) {
    const now = await readOwnIdentity(machine.files, folders.stateDirectory, url, machineId);
    if (now.credential?.issued_at !== credential?.issued_at) return true;
    await clock.sleep(POLL_MS, signal);
  }
  return false;
}

/** What of a status is logged when it changes; empty where all is well. */
function keyOf(status: StatusDocument | null): string {
  if (status === null || (status.state === "registered" && status.findings.length === 0)) return "";
  const { state, failure, findings } = status;
  return JSON.stringify([state, failure?.reason ?? null, findings.map(({ id, file, loc }) => [id, file, loc])]);
}

/** Logs what is news since the last look. */
async function report(
  { status, said, registeredAt, heartbeatProblem, log: options }: Result,
  memory: Memory | null,
  context: CommandContext,
): Promise<void> {
  const { machine, terminal } = context;
  const registeredNowAt = status.registration?.registered_at ?? registeredAt;
  const isNews = registeredNowAt !== registeredAt || said !== keyOf(memory?.status ?? null);
  const beforeProblem = memory?.heartbeatProblem ?? null;
  if (!isNews && heartbeatProblem === beforeProblem) return;
  const output = openLogOutput(context, () => {});
  const log = await openLog(options, (text) => maskWholeKeys(terminal.completeHint(text)), output);
  if (isNews) createReporter({ log, notify: machine.notify, registeredAt }).status(status);
  if (heartbeatProblem === beforeProblem) return;
  if (heartbeatProblem === null) log.info("heartbeats-accepted-again");
  else log.warn("heartbeat-failed", { detail: heartbeatProblem });
}
