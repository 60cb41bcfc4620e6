/**
 * The identity of this robot: enrolls (enrolling.ts), renews its credential and reports that it is alive (upkeep.ts), in a loop of its own
 * beside the agent's.
 *
 * Each turn does what is due. All times are monotonic or relative, so a wrong wall clock delays nothing. A credential is on the disk before
 * its first use, because that use ends the enrolment and the previous value.
 */
import type { Credential, CredentialProblem } from "../../client/credential.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { createAlarm } from "../alarm.ts";
import type { IdentityStatus } from "../status.ts";
import { createCourse, type IdentityOptions } from "./course.ts";
import { createHeldCredential } from "./credential.ts";
import { createEnrolling } from "./enrolling.ts";
import { belonging } from "./identity-files.ts";
import { createUpkeep } from "./upkeep.ts";

export type Identity = ReturnType<typeof createIdentityLoop>;

/** The wall clock is looked at so often, in case the machine was suspended. */
const LONGEST_WAIT_MS = 15 * 60_000;
/** Time between two attempts that persons ask for. */
const RETRY_GAP_MS = 10_000;

export function createIdentityLoop(options: IdentityOptions) {
  const { machine, log, files, stored } = options;
  const { clock } = machine;
  const alarm = createAlarm(clock);
  const held = createHeldCredential({ machine, files, log, stored: belonging(stored.credential, stored.key) });
  const course = createCourse(options, held.record !== null);
  const enrolling = createEnrolling(options, course, held);
  const upkeep = createUpkeep(options, course, held, adopt);
  let adopted = held.record;
  /** What a person asked for; `again`: the identity was refused already. */
  let asked: "now" | "again" | null = null;
  let retryAllowedMs = Number.NEGATIVE_INFINITY;
  const waiting: PromiseWithResolvers<void>[] = [];
  let isTurning = false;

  /** Uses what the service issued, unless it waits for the disk. */
  async function adopt(): Promise<void> {
    const { record } = held;
    if (record === null || record === adopted) return;
    adopted = record;
    const wasEnrolled = course.standing.kind === "enrolled";
    course.standing = { kind: "enrolled" };
    upkeep.credentialChanged(!wasEnrolled);
    await enrolling.forgetEnrolment();
    if (!wasEnrolled) {
      await options.service().discardBulkKey();
      log.info("enrolled", { robot: record.robot_name, installation: record.installation_id });
      options.onEnrolled();
    }
    options.onChange();
  }

  /**
   * What a person asked for: a key where there is none, and a fresh one in place of one that is not accepted. Only a user who may write
   * the state directory may discard a credential, so that one is discarded when its key file was moved away.
   */
  async function answerAsked(): Promise<void> {
    const mayDiscard = asked === "again";
    asked = null;
    if (mayDiscard && (held.record === null || !(await files.hasKey()))) {
      if (!(await enrolling.beginAnew())) return;
      course.begin();
    }
    if (course.standing.kind === "enrolling") course.dueMs = 0;
  }

  /** The identity is one of another service: nothing of it is sent to this one. */
  function isElsewhere(): boolean {
    return enrolling.key !== null && enrolling.key.service_url !== options.service().url;
  }

  /** Approved, but the credential is not on the disk, so it is not used yet. */
  function isWaitingForDisk(): boolean {
    return held.record === null && held.saveDueMs !== Number.POSITIVE_INFINITY;
  }

  /** Nothing is lost with an identity of another service that has no credential: an enrolment ends by itself. */
  function mayBeginAnew(): boolean {
    return isElsewhere() && held.record === null && !isWaitingForDisk();
  }

  async function turn(signal: AbortSignal): Promise<void> {
    if (asked !== null) await answerAsked();
    if (mayBeginAnew()) {
      if (!(await enrolling.beginAnew())) return;
      course.begin();
      options.onChange();
    }
    if (isElsewhere()) {
      return course.refuse(
        "unenrolled",
        `this robot is enrolled at ${enrolling.key?.service_url ?? "another service"}`,
      );
    }
    const { key } = enrolling;
    const nowMs = clock.monotonicMs();
    if (nowMs >= held.saveDueMs) {
      await held.save();
      await adopt();
    }
    switch (course.standing.kind) {
      case "enrolling":
        if (isWaitingForDisk() || nowMs < course.dueMs) return;
        if (await enrolling.advance(signal)) await adopt();
        return;
      case "refused":
        if (nowMs >= course.dueMs && key !== null) await upkeep.renew(key, signal);
        return;
      case "enrolled":
        if (key !== null) await upkeep.advance(key, signal);
    }
  }

  /** Resolves after the next turn that begins. */
  function nextTurn(): Promise<void> {
    const answered = Promise.withResolvers<void>();
    waiting.push(answered);
    alarm.ring();
    return answered.promise;
  }

  function nextMs(): number {
    const latestMs = clock.monotonicMs() + LONGEST_WAIT_MS;
    if (mayBeginAnew()) return course.dueMs;
    // A person is waited for, once that is said.
    if (isElsewhere()) return course.standing.kind === "refused" ? latestMs : 0;
    const soonestMs = Math.min(latestMs, held.saveDueMs);
    switch (course.standing.kind) {
      case "enrolling":
        return Math.min(soonestMs, isWaitingForDisk() ? latestMs : course.dueMs);
      case "refused":
        return Math.min(soonestMs, held.record === null ? latestMs : course.dueMs);
      case "enrolled":
        return Math.min(soonestMs, upkeep.nextMs());
    }
  }

  return {
    /** Works until the signal aborts. Rejects only for a bug. */
    async run(signal: AbortSignal) {
      try {
        if (course.standing.kind === "enrolled") {
          // After a power cut between the enrolment and these removals.
          await enrolling.forgetEnrolment();
          if (!isElsewhere()) await options.service().discardBulkKey();
        }
        for (;;) {
          await alarm.wait(nextMs(), signal);
          const { length } = waiting;
          isTurning = true;
          await turn(signal);
          isTurning = false;
          for (const { resolve } of waiting.splice(0, length)) resolve();
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        for (const { resolve } of waiting) resolve();
      }
    },
    get state() {
      return course.state;
    },
    /** The robot as it was approved; null while it has no credential. */
    get approved() {
      return held.record;
    },
    /** The robot that this computer was before it lost its credential. */
    get before() {
      return enrolling.key?.before ?? null;
    },
    /** Another service may be configured, or what failed is corrected: an old failure counts no more. */
    reconfigured() {
      retryAllowedMs = Number.NEGATIVE_INFINITY;
      if (course.standing.kind === "enrolling" && enrolling.waiting === null) {
        course.failure = null;
        course.dueMs = 0;
      }
      alarm.ring();
    },
    /** Changes with the credential. */
    get version() {
      const { installation_id: id = "", issued_at: issuedAt = "", robot_name: name = "" } = held.record ?? {};
      return `${id} ${issuedAt} ${name} ${course.standing.kind}`;
    },
    /** The credential for this service; null while the robot never had one. */
    credential(serviceUrl: string): Credential | CredentialProblem | null {
      const { record, secret } = held;
      const { standing } = course;
      if (record === null || secret === null) return null;
      const where = options.credentialPath;
      if (standing.kind === "enrolled" && enrolling.key?.service_url === serviceUrl) {
        return { kind: "credential", secret, source: "enrolment", where };
      }
      const what = standing.kind === "refused" ? standing.detail : "this robot is enrolled at another service";
      const fix = "enroll it again: sudo robot-policy-agent enroll";
      return { kind: "credential-problem", code: "not-enrolled", what, where, fix };
    },
    /** The service refused the credential: a renewal decides. @param isAsked a person waits for it. */
    doubt(isAsked = false) {
      if (course.standing.kind !== "enrolled") return;
      upkeep.doubt(isAsked);
      alarm.ring();
    },
    /** The service does not take a registration of this name: it may have given the robot another one. */
    doubtName() {
      if (course.standing.kind !== "enrolled") return;
      upkeep.doubtName();
      alarm.ring();
    },
    /** The registration changed. */
    readinessChanged() {
      if (course.standing.kind === "enrolled" && upkeep.readinessChanged()) alarm.ring();
    },
    /**
     * A person asks whether a refused credential is accepted by now, as when an operator has thawed the robot, or whether a code can be had
     * by now. Resolves with the answer: true when there may be news.
     */
    async retry(): Promise<boolean> {
      const nowMs = clock.monotonicMs();
      const isRefused = course.standing.kind === "refused" && held.record !== null && !isElsewhere();
      const hasFailed = course.standing.kind === "enrolling" && enrolling.waiting === null && course.failure !== null;
      if ((!isRefused && !hasFailed) || nowMs < retryAllowedMs) return false;
      retryAllowedMs = nowMs + RETRY_GAP_MS;
      course.dueMs = nowMs;
      await nextTurn();
      return true;
    },
    /** A person asks to enroll; resolves when there is a code, a credential, or a reason why not. */
    enroll() {
      // A start or poll that is under way answers the command.
      if (!isTurning || course.standing.kind !== "enrolling")
        asked = course.standing.kind === "refused" || isElsewhere() ? "again" : "now";
      return nextTurn();
    },
    status(): IdentityStatus {
      const { record } = held;
      const { key, waiting: enrolment } = enrolling;
      const { standing } = course;
      return {
        state: course.state,
        key_fingerprint: key === null ? null : keyFingerprint(key.public_key),
        user_code: enrolment?.user_code ?? null,
        waits_because: enrolment?.waits_because ?? null,
        code_expires_at: enrolment?.expires_at ?? null,
        robot: record === null ? null : { id: record.robot_id, name: record.robot_name },
        installation_id: record?.installation_id ?? null,
        credential_expires_at: record?.credential_expires_at ?? null,
        last_heartbeat_at: upkeep.lastHeartbeatAt,
        problem: standing.kind === "refused" ? standing.detail : (held.problem ?? course.failure?.detail ?? null),
        problem_state: standing.kind === "enrolling" ? (course.failure?.state ?? null) : null,
      };
    },
  };
}
