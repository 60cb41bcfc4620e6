import { keyFingerprint } from "../../platform/ed25519.ts";
import { errorCode } from "../../platform/files/files.ts";
import { createBackoff } from "../../platform/retry.ts";
import { type Approved, judgePoll, judgeStart } from "./answers.ts";
import type { Course, IdentityOptions } from "./course.ts";
import type { HeldCredential } from "./credential.ts";
import type { EnrolmentRequest } from "./enrolment-request.ts";
import { belonging } from "./identity-files.ts";
import { createKey, signPoll } from "./key.ts";
import {
  type EnrolmentRecord,
  givenByApproval,
  type KeyRecord,
  nameWithoutCredential,
  type RobotBefore,
} from "./records.ts";

/** A code that is over is followed by the next one within this time, or later each time when the service ends codes at once. */
const SOON_MS = 1000;
const LATEST_MS = 5 * 60_000;
/** A code that lasted so long did not end at once. */
const LASTING_MS = 30_000;
/** Maximum delay of the next poll, whatever Retry-After says: a code expires after ten minutes. */
const LONGEST_POLL_DELAY_MS = 30_000;

/** From nothing to a credential: the key of this computer, and the enrolment that waits for an operator. */
export function createEnrolling(options: IdentityOptions, course: Course, held: HeldCredential) {
  const { machine, log, files, stored } = options;
  const { clock, random } = machine;
  let key: KeyRecord | null = stored.key;
  let enrolment: EnrolmentRecord | null = belonging(stored.enrolment, key);
  /** False where the service said that no operator has to approve. */
  let isApprovalNeeded = true;
  const endings = createBackoff({ firstMs: SOON_MS, capMs: LATEST_MS, random });
  /** Monotonic time of the last code; of the start for one of an earlier process. */
  let codedMs = clock.monotonicMs();

  /** The robot of this computer at a service, also when its credential ended. */
  function robotBefore(serviceUrl: string): RobotBefore | null {
    if (key !== null && key.service_url !== serviceUrl) return null;
    // Without a key, the power was cut between moving it away and writing the next one.
    const known = key === null ? stored.credential : (held.record ?? key.before ?? null);
    return known === null ? null : { robot_name: known.robot_name, configured_name: known.configured_name };
  }

  async function makeKey(): Promise<boolean> {
    try {
      const { url } = options.service();
      const made = createKey(random, url, await machine.identity.machine(), clock.wallMs(), robotBefore(url));
      await files.saveKey(made);
      key = made;
      enrolment = null;
      held.forget();
      log.info("identity-key-made", { fingerprint: keyFingerprint(made.public_key) });
      return true;
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      const detail = `the key of this robot cannot be written (${code})`;
      course.wait({ kind: "later", state: null, detail, retryAfterMs: null });
      return false;
    }
  }

  /** The pause keeps a service that refuses every key from being asked without end. */
  async function replaceKey(): Promise<void> {
    if (!(await makeKey())) return;
    const detail = "the service knew the key of this robot already, so the robot made a new one";
    course.wait({ kind: "later", state: null, detail, retryAfterMs: null });
  }

  /** What this computer says of its robot now. */
  async function describe(current: KeyRecord): Promise<EnrolmentRequest> {
    const robot = await options.describeRobot();
    return { ...robot, requested_name: nameWithoutCredential(current.before ?? null, robot.requested_name) };
  }

  async function start(current: KeyRecord, robot: EnrolmentRequest, signal: AbortSignal): Promise<void> {
    const { client, bulkKey } = options.service();
    const bulk = await bulkKey();
    if (bulk?.kind === "credential-problem") {
      const detail = `${bulk.where}: ${bulk.what}`;
      return course.wait({ kind: "later", state: "unauthorized", detail, retryAfterMs: null });
    }
    const body = { ...robot, public_key: current.public_key };
    const verdict = judgeStart(await client.start(body, bulk?.secret ?? null, signal));
    signal.throwIfAborted();
    switch (verdict.kind) {
      case "later": {
        const isKeyRefused = bulk !== null && verdict.state === "unauthorized";
        const detail = isKeyRefused ? `${verdict.detail} (the key for enrolments in ${bulk.where})` : verdict.detail;
        return course.wait({ ...verdict, detail });
      }
      case "fresh-key":
        await replaceKey();
        return;
      case "started": {
        const { started } = verdict;
        course.answered();
        const next = {
          public_key: current.public_key,
          approval_id: started.approval_id,
          poll_token: started.poll_token.reveal(),
          user_code: started.user_code,
          expires_at: started.expires_at,
          interval_s: started.interval_s,
          said: said(robot),
          waits_because: becauseOf(started, robot.requested_name),
        };
        // Before anybody sees the code: without the file a restarted agent starts anew, and an approval would be lost.
        await files.saveEnrolment(next).catch(throwBugs);
        enrolment = next;
        codedMs = clock.monotonicMs();
        isApprovalNeeded = started.approval_required;
        course.dueMs = clock.monotonicMs() + (isApprovalNeeded ? started.interval_s * 1000 : 0);
        if (isApprovalNeeded) logWaiting(next);
        options.onChange();
      }
    }
  }

  function logWaiting(waiting: EnrolmentRecord): void {
    const { public_key: publicKey, user_code: code, expires_at: expiresAt, waits_because: because = null } = waiting;
    const fields = { code, fingerprint: keyFingerprint(publicKey), expires_at: expiresAt };
    log.warn("enrolment-waits", because === null ? fields : { ...fields, because });
  }

  async function poll(current: KeyRecord, waiting: EnrolmentRecord, signal: AbortSignal): Promise<boolean> {
    const verdict = judgePoll(await options.service().client.poll(signPoll(current, waiting), signal));
    signal.throwIfAborted();
    if (verdict.kind !== "later") course.answered();
    switch (verdict.kind) {
      case "later":
        course.wait({ ...verdict, retryAfterMs: Math.min(verdict.retryAfterMs ?? 0, LONGEST_POLL_DELAY_MS) });
        return false;
      case "pending":
        course.dueMs = clock.monotonicMs() + (verdict.waitMs ?? waiting.interval_s * 1000);
        if (isApprovalNeeded) return false;
        isApprovalNeeded = true;
        enrolment = { ...waiting, waits_because: becauseOf(verdict, (await describe(current)).requested_name) };
        await files.saveEnrolment(enrolment).catch(throwBugs);
        logWaiting(enrolment);
        options.onChange();
        return false;
      case "approved":
        await take(current, verdict.issued);
        return true;
      case "denied":
        await forgetEnrolment();
        course.refuse("unenrolled", "the enrolment of this robot was denied");
        return false;
      case "over":
        await forgetEnrolment();
        pauseAfterCode();
        options.onChange();
        return false;
      case "fresh-key":
        await forgetEnrolment();
        if (await makeKey()) pauseAfterCode();
        return false;
    }
  }

  /** Each start costs the disk two syncs, so a service that ends every code at once must not cause starts without end. */
  function pauseAfterCode(): void {
    if (clock.monotonicMs() - codedMs >= LASTING_MS) endings.reset();
    const dueMs = clock.monotonicMs() + endings.nextMs();
    if (endings.attempts > 1)
      course.wait({ kind: "later", state: null, detail: "the service ends each code at once", retryAfterMs: null });
    course.dueMs = dueMs;
  }

  async function take(current: KeyRecord, issued: Approved): Promise<void> {
    const { robot } = issued;
    const configured = await options.describeRobot();
    await held.take(current.public_key, issued, {
      robot_id: robot.id,
      robot_name: robot.name,
      ...givenByApproval(robot, configured),
      configured_name: configured.requested_name,
    });
  }

  async function forgetEnrolment(): Promise<void> {
    if (enrolment === null) return;
    enrolment = null;
    await files.forgetEnrolment().catch(throwBugs);
  }

  return {
    get key() {
      return key;
    },
    /** The enrolment that an operator has to approve. */
    get waiting() {
      return isApprovalNeeded ? enrolment : null;
    },
    /** Does what is due: a key, a start or a poll. True once there is a credential. */
    async advance(signal: AbortSignal): Promise<boolean> {
      if (key === null) await makeKey();
      if (key === null) return false;
      const robot = await describe(key);
      // An approval of what the robot no longer says could put it in the place of another robot.
      if (enrolment !== null && (enrolment.said ?? said(robot)) !== said(robot)) {
        log.info("enrolment-outdated", { code: enrolment.user_code });
        await forgetEnrolment();
      }
      if (enrolment !== null) return poll(key, enrolment, signal);
      await start(key, robot, signal);
      return false;
    },
    /** Makes a key in place of the one there is. False when it cannot be written. */
    async beginAnew(): Promise<boolean> {
      if (!(await makeKey())) return false;
      await files.forgetEnrolment().catch(throwBugs);
      return true;
    },
    forgetEnrolment,
  };
}

/** What an approver decides on, as a text to compare. */
function said({ requested_name: name, region, site, labels }: EnrolmentRequest): string {
  const sorted = Object.entries(labels ?? {}).sort(([left], [right]) => (left < right ? -1 : 1));
  return JSON.stringify([name, region ?? null, site ?? null, sorted]);
}

function becauseOf({ reason }: { readonly reason?: string | null | undefined }, name: string): string | null {
  if (reason !== "name_exists") return null;
  return `a robot named ${name} exists already: a person decides whether this computer takes its place; for another robot change robot.name`;
}

function throwBugs(error: unknown): void {
  if (errorCode(error) === undefined) throw error;
}
