/**
 * `look`: what robot-policy-agent.timer runs each minute where no agent shall run in between. It compares the disk with the registration, as a
 * start of the agent does. Where nothing is to be done it writes nothing, and sends nothing but the heartbeat of an enrolled robot. All else
 * is done by the loop of the agent, in this process (control/either-agent.ts).
 *
 * What is wrong is remembered in the runtime directory, not on the disk: so that it is logged once, and a request that was refused is not sent
 * again each minute.
 */
import { join } from "node:path";
import { crc32 } from "node:zlib";

import { maskWholeKeys } from "../../api/wire/service-key.ts";
import { sha256Hex } from "../../platform/crypto.ts";
import { readBounded, removeIfPresent, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode } from "../../platform/files/files.ts";
import { isObject } from "../../platform/is-object.ts";
import { openLogOutput } from "../../platform/log/log-output.ts";
import { type Log, type LogOptions, openLog } from "../../platform/log/log.ts";
import { EXIT, type Problem } from "../../platform/terminal.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import { type Folders, resolveFolders } from "../configuration/folders.ts";
import type { EitherAgent } from "../control/either-agent.ts";
import { decide } from "../decide.ts";
import { readHoldNow } from "../hold.ts";
import { changesOf, collectSettled, describeOneShot, type OneShot, openOneShot, statusFromDisk } from "../one-shot.ts";
import { type Connection, connect } from "../registration/connect.ts";
import { createReporter } from "../reporter.ts";
import type { AgentState, StatusDocument } from "../status.ts";
import type { Command, CommandContext, CommonOptions } from "./context.ts";

/** Below TimeoutStartSec= of the unit, so that a look that finds no end ends in order. The next one begins anew. */
const LIMIT_MS = 25_000;
const MINUTES_PER_DAY = 1440;
const MINUTE_MS = 60_000;
const APPROVAL_LIMIT_MS = 3000;
/** A renewal that is due is waited for. */
const RENEWAL_LIMIT_MS = 10_000;
const POLL_MS = 200;

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
const LONGEST_PAUSE_MS = 60 * MINUTE_MS;

/** What the last look left to say, or to wait for; removed once all is well. */
interface Memory {
  /** What was logged. */
  readonly said: string;
  /** What the last request depended on. */
  readonly inputs: string;
  /** By the monotonic clock, which goes on from process to process until the next boot, as the runtime directory does. */
  readonly untilMs: number;
}

const MEMORY_LIMIT_BYTES = 16 * 1024;

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
  const { machine, terminal } = context;
  const memory = await readMemory(folders, context);
  const opened = await openOneShot({ machine, folders, state: "read", isTrusting: true });
  if (opened.kind !== "opened") {
    const status = opened.kind === "problem" ? opened.problem : await statusFromDisk(folders, context);
    if ("fix" in status) {
      terminal.problem(status);
      return EXIT.failed;
    }
    const registeredAt = status.registration?.registered_at ?? null;
    await conclude({ status, inputs: "", registeredAt, log: DEFAULT_LOG }, memory, folders, context);
    return EXIT.ok;
  }
  const { oneShot } = opened;
  const connection = connect(oneShot.collector.configuration, { ...context, machine, folders }, () => null);
  try {
    const seen = await see(oneShot, connection, folders, context);
    const registeredAt = oneShot.registration?.registered_at ?? null;
    const inputs = sha256Hex(JSON.stringify(seen.inputs));
    const isPaused = memory?.inputs === inputs && machine.clock.monotonicMs() < memory.untilMs;
    if (seen.needsAgent && isPaused) return EXIT.ok;
    const status = seen.needsAgent ? await act(seen, oneShot, folders, context) : seen.status;
    // An agent runs, and does all of it.
    if (status === null) return EXIT.ok;
    if ("fix" in status) {
      terminal.problem(status);
      return EXIT.failed;
    }
    const { log } = oneShot.collector.configuration;
    await conclude({ status, inputs, registeredAt, log }, memory, folders, context);
    return EXIT.ok;
  } finally {
    await connection.close();
  }
}

interface Seen {
  /** As the disk alone tells it. */
  readonly status: StatusDocument;
  /** The agent has something to send. */
  readonly needsAgent: boolean;
  /** The service wants the credential renewed, or does not accept it. */
  readonly isRenewing: boolean;
  /** What a request of the agent depends on. */
  readonly inputs: unknown;
}

/** Compares the disk with the registration, and sends the heartbeat of an enrolled robot. Writes nothing. */
async function see(oneShot: OneShot, connection: Connection, folders: Folders, context: CommandContext): Promise<Seen> {
  const { machine, signal } = context;
  const { collector, registration, identity } = oneShot;
  const { wanted, machineId } = await collectSettled(oneShot, signal);
  const reading = await readHoldNow(folders, context);
  const isEnrolling = identity.enrolment !== null || collector.configuration.service.identity === "enrolled";
  const isWaiting = identity.credential === null && isEnrolling;
  const decision = decide({
    wanted,
    registration,
    lastFailure: null,
    credentialVersion: "",
    machine: machineId,
    serviceUrl: connection.serviceUrl,
    route: "",
    // Whether an API key counts meanwhile, the agent knows.
    held: isWaiting ? "waiting-for-approval" : null,
    isNameApproved: collector.isNameApproved,
    holdUntilMs: reading.kind === "held" ? reading.hold.untilMs : null,
    forced: false,
    rateCappedUntilMs: Number.NEGATIVE_INFINITY,
    nowMs: machine.clock.monotonicMs(),
  });
  const state = decision.kind === "refuse" ? decision.reason : decision.kind === "wait" ? "held" : "registered";
  const status = describeOneShot(oneShot, state, {
    hold: reading.kind === "held" ? reading.hold : null,
    changes: { sinceRegistration: await changesOf(oneShot, wanted), ofRegistration: null },
  });
  const isRenewing = await beat(oneShot, connection, status, context);
  const isDue = decision.kind === "nothing" && isConfirmationDue(collector.robotName, machine.clock.wallMs());
  const needsAgent = decision.kind === "register" || state === "waiting-for-approval" || isDue || isRenewing;
  const keys = await Promise.all(
    [...connection.credentialPaths, ...connection.routePaths].map((path) => stamp(path, context)),
  );
  const inputs = [wanted, connection.route, identity.credential?.issued_at, keys, isDue];
  return { status, needsAgent, isRenewing, inputs };
}

/** A file that was written again may hold another key. */
async function stamp(path: string, { machine }: CommandContext): Promise<string> {
  return machine.files.stat(path).then(
    ({ inode, ctimeNs }) => `${inode} ${ctimeNs}`,
    () => "",
  );
}

/** Once a day, in a minute of each robot's own, the service is asked whether it still has the registration, and every file is read again. */
function isConfirmationDue(name: string, wallMs: number): boolean {
  return Math.floor(wallMs / MINUTE_MS) % MINUTES_PER_DAY === crc32(name) % MINUTES_PER_DAY;
}

/** The heartbeat of an enrolled robot. @returns whether its credential has to be renewed, or is not accepted. */
async function beat(
  { collector, registration, identity: { credential } }: OneShot,
  { access, serviceUrl }: Connection,
  { state, summary }: StatusDocument,
  { machine, version, signal }: CommandContext,
): Promise<boolean> {
  if (credential === null) return false;
  // Robots without a credential do not load this.
  const [{ createHeartbeats }, { createIdentityClient }, { Secret }] = await Promise.all([
    import("../identity/heartbeats.ts"),
    import("../../client/identity-client.ts"),
    import("../../client/secret.ts"),
  ]);
  const isHeld = registration !== null && !registration.in_doubt && registration.service_url === serviceUrl;
  const readiness = {
    problem: state === "registered" && isHeld ? null : summary,
    registeredDigest: registration?.request.configuration_digest ?? null,
  };
  const heartbeats = createHeartbeats({ machine, log: SILENT, version });
  const secret = new Secret(credential.installation_token);
  const periodMs = 1000 * collector.configuration.service.heartbeat_s;
  const sent = await heartbeats.send(createIdentityClient(access), secret, readiness, periodMs, signal);
  // Without an answer the next look sends another.
  return sent.kind === "accepted" ? sent.renewAfterS <= 0 : sent.kind !== "later";
}

/** The loop of the agent in this process, until it has an answer. @returns null where an agent runs already. */
async function act(
  { isRenewing }: Seen,
  oneShot: OneShot,
  folders: Folders,
  context: CommandContext,
): Promise<StatusDocument | Problem | null> {
  // A look that finds nothing does not load them.
  const [{ openAgent }, { register }] = await Promise.all([import("../control/either-agent.ts"), import("./setup.ts")]);
  const opened = await openAgent(folders, context);
  if (opened.kind === "problem") return opened.problem;
  if (opened.kind === "invalid") return statusFromDisk(folders, context);
  await using agent = opened.agent;
  if (!agent.isHere) return null;
  let status = await register(agent, { ifChanged: true }, context);
  if (isWaiting(status) && (await isOver(agent, context))) status = await register(agent, { ifChanged: true }, context);
  if (isRenewing) await renewed(oneShot, folders, context);
  return status;
}

/** A code that was shown before: the agent asks for the approval beside its first run. @returns whether the wait for it is over. */
async function isOver(agent: EitherAgent, context: CommandContext): Promise<boolean> {
  const { clock } = context.machine;
  const untilMs = clock.monotonicMs() + APPROVAL_LIMIT_MS;
  while (clock.monotonicMs() < untilMs) {
    await clock.sleep(POLL_MS, context.signal);
    if (!isWaiting(await agent.status())) return true;
  }
  return false;
}

function isWaiting(status: StatusDocument | Problem): boolean {
  return !("fix" in status) && status.state === "waiting-for-approval";
}

/** Waits for the renewal that the agent makes beside its question. */
async function renewed(
  { collector, identity: { credential } }: OneShot,
  folders: Folders,
  context: CommandContext,
): Promise<void> {
  const { machine, signal } = context;
  const { clock } = machine;
  if (credential === null) return;
  const { readOwnIdentity } = await import("../identity/identity-files.ts");
  const untilMs = clock.monotonicMs() + RENEWAL_LIMIT_MS;
  const [url, machineId] = [collector.configuration.service.url, await machine.identity.machine()];
  while (clock.monotonicMs() < untilMs) {
    const now = await readOwnIdentity(machine.files, folders.stateDirectory, url, machineId);
    if (now.credential?.issued_at !== credential.issued_at) return;
    await clock.sleep(POLL_MS, signal);
  }
}

interface Conclusion {
  readonly status: StatusDocument;
  readonly inputs: string;
  /** Of the registration before this look. */
  readonly registeredAt: string | null;
  readonly log: LogOptions;
}

/** Where the configuration is invalid. */
const DEFAULT_LOG: LogOptions = { level: "info", format: "json" };

/** Logs what is news since the last look, and remembers it. */
async function conclude(
  { status, inputs, registeredAt, log }: Conclusion,
  memory: Memory | null,
  folders: Folders,
  context: CommandContext,
): Promise<void> {
  const { state, failure, findings, registration } = status;
  const isWell = state === "registered" && findings.length === 0;
  const isNew = registration !== null && registration.registered_at !== registeredAt;
  const said = isWell
    ? ""
    : JSON.stringify([state, failure?.reason ?? null, findings.map(({ id, file, loc }) => [id, file, loc])]);
  if (isNew || said !== (memory?.said ?? "")) {
    const reporter = createReporter({
      log: await openOwnLog(log, context),
      notify: context.machine.notify,
      registeredAt,
    });
    reporter.status(status);
  }
  const pauseMs = PAUSES_MS[state] ?? 0;
  if (isWell) return memory === null ? undefined : removeIfPresent(context.machine.files, memoryPath(folders));
  if (pauseMs === 0 && said === memory?.said && memory.untilMs === 0) return;
  const untilMs = pauseMs === 0 ? 0 : context.machine.clock.monotonicMs() + pauseMs;
  await writeMemory({ said, inputs, untilMs }, folders, context);
}

const SILENT: Log = { debug() {}, info() {}, notice() {}, warn() {}, error() {} };

async function openOwnLog(options: LogOptions, context: CommandContext): Promise<Log> {
  const { terminal } = context;
  const output = openLogOutput(context, () => {});
  return openLog(options, (text) => maskWholeKeys(terminal.completeHint(text)), output);
}

function memoryPath({ runtimeDirectory }: Folders): string {
  return join(runtimeDirectory, "look.json");
}

/** @returns null where there is none, or one that is not ours: members of the agent's group may write beside it. */
async function readMemory(folders: Folders, { machine, userId }: CommandContext): Promise<Memory | null> {
  const { files, clock } = machine;
  const path = memoryPath(folders);
  try {
    const bytes = await readBounded(files, path, MEMORY_LIMIT_BYTES);
    if (bytes === "too-large" || (await files.linkStat(path)).userId !== userId) return null;
    const found = parseJson(Buffer.from(bytes).toString("utf8"));
    if (!isObject(found)) return null;
    const { said, inputs, until_ms: untilMs } = found;
    if (typeof said !== "string" || typeof inputs !== "string" || typeof untilMs !== "number") return null;
    return { said, inputs, untilMs: Math.min(untilMs, clock.monotonicMs() + LONGEST_PAUSE_MS) };
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}

/** Not where there is no such directory, as for a look by hand: it then says the same again. */
async function writeMemory(
  { said, inputs, untilMs }: Memory,
  folders: Folders,
  { machine }: CommandContext,
): Promise<void> {
  const text = `${JSON.stringify({ said, inputs, until_ms: untilMs })}\n`;
  await replaceDurably(machine.files, memoryPath(folders), Buffer.from(text), 0o600).catch((error: unknown) => {
    if (errorCode(error) === undefined) throw error;
  });
}
