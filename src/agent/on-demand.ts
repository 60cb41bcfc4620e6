/**
 * The file by which one `look` hands on to the next, and to `status` and `doctor`. robot-policy-agent.timer starts a look each minute.
 *
 * A look writes what is wrong, and when to ask the service next. The next look therefore logs no finding twice, and does not send a refused
 * request again each minute. The file is in the runtime directory: after a boot there is none, and a look asks the service within minutes.
 */
import { join } from "node:path";

import * as z from "zod";

import type { TimerUnit } from "../access/unit.ts";
import { sha256Hex } from "../platform/crypto.ts";
import { isoTime } from "../platform/clock.ts";
import { readBounded, removeIfPresent, replaceDurably } from "../platform/files/durable-file.ts";
import { errorCode, sameStat } from "../platform/files/files.ts";
import { isRecent } from "../look/look.ts";
import type { FileFingerprint } from "../look/snapshot.ts";
import { isObject } from "../platform/is-object.ts";
import type { Problem } from "../platform/terminal.ts";
import { parseJson } from "../platform/text/parse-json.ts";
import type { Collection } from "./collector.ts";
import type { CommandContext } from "./commands/context.ts";
import type { Folders } from "./configuration/folders.ts";
import { decide, sharesOthers } from "./decide.ts";
import { readHoldNow } from "./hold.ts";
import { changesOf, describeOneShot, type OneShot, openOneShot, statusFromDisk } from "./one-shot.ts";
import { type Connection, connect } from "./registration/connect.ts";
import { encodeFile, fingerprintsSchema } from "./registration/registration.ts";
import { isStatusDocument, type StatusDocument } from "./status.ts";

/** What the last look left. Times are of the monotonic clock, which goes on from process to process until the next boot. */
export interface Memory {
  /** The service is asked then whether it still has the registration, and every file is read. */
  readonly confirmMs: number;
  /** What the last request depended on: the same is not sent again until then. */
  readonly inputs: string;
  readonly untilMs: number;
  /** Null when all was well. */
  readonly status: StatusDocument | null;
  /** Why the last heartbeat was not accepted. */
  readonly heartbeatProblem: string | null;
  readonly kept: KeptFiles | null;
}

/** Fingerprints of files for a registration that is still to be sent. A look does not read a file again if its stat is the same. */
export interface KeptFiles {
  /** Monotonic. */
  readonly untilMs: number;
  readonly files: readonly FileFingerprint[];
}

type Parts = Pick<CommandContext, "machine" | "signal" | "environment" | "version" | "userId">;

/** Above what a list of 512 files with long paths needs. */
const LIMIT_BYTES = 8 * 1024 * 1024;
const DAY_MS = 24 * 60 * 60_000;
const PERIOD_MS = 60_000;
/** How long files are not read again: the agent reads small ones once an hour, too. */
const KEPT_MS = 60 * 60_000;

function memoryPath({ runtimeDirectory }: Folders): string {
  return join(runtimeDirectory, "look.json");
}

const keptSchema = z
  .object({ until_ms: z.number(), files: fingerprintsSchema })
  .transform(({ until_ms: untilMs, files }): KeptFiles => ({ untilMs, files }));

/** @returns null where there is none, or one that is not the agent's: members of its group may write beside it. */
export async function readMemory(folders: Folders, { machine }: Parts): Promise<Memory | null> {
  const { files, clock } = machine;
  const path = memoryPath(folders);
  try {
    const bytes = await readBounded(files, path, LIMIT_BYTES);
    const [{ userId }, owner] = [await files.linkStat(path), await files.stat(folders.stateDirectory)];
    if (bytes === "too-large" || ![0, owner.userId].includes(userId)) return null;
    const found = parseJson(Buffer.from(bytes).toString("utf8"));
    if (!isObject(found)) return null;
    const { confirm_ms: confirmMs, inputs, until_ms: untilMs, status, heartbeat_problem: heartbeatProblem } = found;
    const kept = keptSchema.safeParse(found["kept"], { jitless: true });
    if (typeof confirmMs !== "number" || typeof untilMs !== "number" || typeof inputs !== "string") return null;
    if (status !== null && !isStatusDocument(status)) return null;
    if (heartbeatProblem !== null && typeof heartbeatProblem !== "string") return null;
    const leftMs = (each: KeptFiles) => each.untilMs - clock.monotonicMs();
    const atMost = (limitMs: number, timeMs: number) => Math.min(timeMs, clock.monotonicMs() + limitMs);
    return {
      confirmMs: atMost(2 * DAY_MS, confirmMs),
      inputs,
      untilMs: atMost(DAY_MS, untilMs),
      status,
      heartbeatProblem,
      kept: kept.success && leftMs(kept.data) > 0 && leftMs(kept.data) <= KEPT_MS ? kept.data : null,
    };
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}

/** Not where there is no runtime directory, as for a look by hand: it then says the same again. */
export async function writeMemory(memory: Memory, folders: Folders, { machine }: Parts): Promise<void> {
  const { confirmMs, inputs, untilMs, status, heartbeatProblem, kept } = memory;
  const file = {
    confirm_ms: confirmMs,
    inputs,
    until_ms: untilMs,
    status,
    heartbeat_problem: heartbeatProblem,
    ...(kept !== null && { kept: { until_ms: kept.untilMs, files: kept.files.map(encodeFile) } }),
  };
  const bytes = Buffer.from(`${JSON.stringify(file)}\n`);
  // Readable for the group, as what the control socket of an agent says is.
  await replaceDurably(machine.files, memoryPath(folders), bytes, 0o640).catch(ignoreSystem);
}

/** After kill -9 of what begins now, the next look is as the first one of a boot. */
export async function forgetMemory(folders: Folders, { machine }: Parts): Promise<void> {
  await removeIfPresent(machine.files, memoryPath(folders)).catch(ignoreSystem);
}

function ignoreSystem(error: unknown): void {
  if (errorCode(error) === undefined) throw error;
}

/** What need not be read again. Nothing while a file may have changed just before it was read. @param startedMs wall clock. */
export function keptFiles(
  { machine, collector }: OneShot,
  before: KeptFiles | null,
  startedMs: number,
): KeptFiles | null {
  const files = collector.snapshot?.files ?? [];
  if (files.length === 0 || files.some(({ stat }) => isRecent(stat, startedMs))) return null;
  const isSame =
    files.length === before?.files.length &&
    files.every(
      (file, index) => file.sha256 === before.files[index]?.sha256 && sameStat(file.stat, before.files[index].stat),
    );
  return isSame ? before : { untilMs: machine.clock.monotonicMs() + KEPT_MS, files };
}

export interface Seen {
  /** As the disk alone tells it. */
  readonly status: StatusDocument;
  /** The agent has a request to send about it. */
  readonly hasWork: boolean;
  /** What that request depends on. */
  readonly inputs: string;
}

/** Compares the disk with the registration. Sends and writes nothing. */
export async function see(
  oneShot: OneShot,
  { wanted, machineId }: Collection,
  connection: Connection,
  folders: Folders,
  context: Parts,
): Promise<Seen> {
  const { collector, registration, identity } = oneShot;
  const { machine } = context;
  const reading = await readHoldNow(folders, context);
  const isEnrolling = identity.enrolment !== null || collector.configuration.service.identity === "enrolled";
  const decision = decide({
    wanted,
    registration,
    lastFailure: null,
    credentialVersion: "",
    machine: machineId,
    serviceUrl: connection.serviceUrl,
    route: "",
    // Whether an API key counts meanwhile, the agent knows.
    held: identity.credential === null && isEnrolling ? "waiting-for-approval" : null,
    isNameApproved: collector.isNameApproved,
    sharesOthers: sharesOthers(registration, collector.snapshot),
    holdUntilMs: reading.kind === "held" ? reading.hold.untilMs : null,
    forced: false,
    rateCappedUntilMs: Number.NEGATIVE_INFINITY,
    nowMs: machine.clock.monotonicMs(),
  });
  const state = decision.kind === "refuse" ? decision.reason : decision.kind === "wait" ? "held" : "registered";
  const isRegistering = decision.kind === "register";
  const status = describeOneShot(oneShot, isRegistering ? "registering" : state, {
    findings: [...collector.findings, ...(reading.kind === "ignored" ? [reading.finding] : [])],
    hold: reading.kind === "held" ? reading.hold : null,
    changes: { sinceRegistration: await changesOf(oneShot, wanted), ofRegistration: null },
  });
  const paths = [...connection.credentialPaths, ...connection.routePaths];
  // A file that was written again may hold another key.
  const stamp = ({ inode, ctimeNs }: { readonly inode: bigint; readonly ctimeNs: bigint }) => `${inode} ${ctimeNs}`;
  const stamps = await Promise.all(paths.map((path) => machine.files.stat(path).then(stamp, () => "")));
  return {
    status,
    hasWork: isRegistering || state === "waiting-for-approval",
    inputs: sha256Hex(JSON.stringify([wanted, connection.route, identity.credential?.issued_at, stamps])),
  };
}

/** The status of a robot with a timer, between two looks. @throws `signal.reason` when the signal aborts. */
export async function statusBetweenLooks(
  timer: TimerUnit,
  folders: Folders,
  context: Parts,
): Promise<StatusDocument | Problem> {
  const memory = await readMemory(folders, context);
  const status = await statusNow(memory, folders, context);
  if ("fix" in status) return status;
  const { clock } = context.machine;
  const { lastLookMs } = timer;
  const lastAtMs = clock.wallMs() - clock.monotonicMs() + lastLookMs;
  return {
    ...status,
    timer: {
      last_look_at: lastLookMs === 0 ? null : isoTime(lastAtMs),
      next_look_at: lastLookMs === 0 ? null : isoTime(lastAtMs + PERIOD_MS),
      last_result: timer.lastResult,
      heartbeat_problem: memory?.heartbeatProblem ?? null,
    },
  };
}

async function statusNow(memory: Memory | null, folders: Folders, context: Parts): Promise<StatusDocument | Problem> {
  const { machine, signal } = context;
  const opened = await openOneShot({ machine, folders, state: "read" });
  if (opened.kind === "problem") return opened.problem;
  if (opened.kind === "invalid") return statusFromDisk(folders, context);
  const { oneShot } = opened;
  const collected = await oneShot.collector.collect(false, oneShot.names, signal);
  if (collected.kind !== "collected") return describeOneShot(oneShot, "settling");
  const connection = connect(oneShot.collector.configuration, { ...context, folders }, () => null);
  const { status, hasWork } = await see(oneShot, collected, connection, folders, context);
  await connection.close();
  const last = memory?.status ?? null;
  // What the service answered the last look, unless that was about something else.
  const isAnswer = last !== null && (last.failure !== null || last.identity !== null);
  return hasWork && isAnswer && last.configuration_digest === status.configuration_digest ? last : status;
}
