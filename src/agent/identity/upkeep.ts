import { isPathParameter } from "../../client/address.ts";
import { isoNow } from "../../platform/clock.ts";
import { judgeName, judgeRenewal, type Refused } from "./answers.ts";
import { type Course, createPace, type IdentityOptions } from "./course.ts";
import type { HeldCredential } from "./credential.ts";
import { createHeartbeats } from "./heartbeats.ts";
import { signRenewal } from "./key.ts";
import type { KeyRecord } from "./records.ts";

/** Between two renewals, whatever the service says. */
const RENEWAL_GAP_MS = 30_000;
/** A service that renews a credential and refuses it again is asked so often. */
const DOUBT_PERIOD_MS = 5 * 60_000;

/**
 * Keeps a credential good, and reports with it that the robot is alive.
 *
 * @param adopt called when the credential in use may be another one.
 */
export function createUpkeep(
  options: IdentityOptions,
  course: Course,
  held: HeldCredential,
  adopt: () => Promise<void>,
) {
  const { machine, log } = options;
  const { clock, random } = machine;
  const { pace } = course;
  /** Separate from `pace`, because accepted heartbeats must not shorten the pauses between renewals that fail. */
  const heartbeatPace = createPace(random);
  const heartbeats = createHeartbeats(machine, options.version, () => options.service().heartbeatMs);
  /** A failed renewal is not repeated before. */
  let renewalAllowedMs = 0;
  /** The service refused the credential; and a renewal for that reason is not repeated before. */
  let isDoubted = false;
  let doubtAllowedMs = 0;
  /** An operator may have renamed the robot meanwhile. */
  let isNameDoubted = held.record !== null;
  /** The service refused a registration of this name: it is asked until one stands. */
  let isNameRefused = false;
  let lastHeartbeatAt: string | null = null;
  let failedHeartbeats = 0;
  if (held.record !== null) heartbeats.resume();

  function refuse({ state, detail }: Refused): void {
    course.refuse(state, detail);
    course.dueMs = clock.monotonicMs() + pace.afterRefusal(state);
  }

  async function renew(key: KeyRecord, signal: AbortSignal): Promise<void> {
    const { record, secret } = held;
    if (record === null || secret === null) return;
    const body = signRenewal(key, record.installation_id, random);
    const verdict = judgeRenewal(await options.service().client.renew(body, secret, signal));
    signal.throwIfAborted();
    switch (verdict.kind) {
      case "renewed":
        course.answered();
        renewalAllowedMs = clock.monotonicMs() + RENEWAL_GAP_MS;
        if (isDoubted) doubtAllowedMs = clock.monotonicMs() + DOUBT_PERIOD_MS;
        if (verdict.issued.recovered) log.warn("credential-recovered");
        await held.take(key.public_key, verdict.issued, record);
        return adopt();
      case "refused":
        isDoubted = false;
        return refuse(verdict);
      case "fresh-nonce":
        // The next one is signed over another nonce.
        course.wait({ kind: "later", state: null, detail: "the nonce was used before", retryAfterMs: null });
        renewalAllowedMs = course.dueMs;
        return;
      case "later":
        course.wait(verdict);
        renewalAllowedMs = course.dueMs;
    }
  }

  async function beat(signal: AbortSignal): Promise<void> {
    const { secret } = held;
    if (secret === null) return;
    const verdict = await heartbeats.send(options.service().client, secret, options.readiness(), signal);
    signal.throwIfAborted();
    switch (verdict.kind) {
      case "accepted":
        heartbeatPace.reset();
        if (failedHeartbeats > 0) {
          log.info("heartbeats-accepted-again", { failed: failedHeartbeats });
          options.onReturn();
        }
        failedHeartbeats = 0;
        lastHeartbeatAt = isoNow(clock);
        held.correct(verdict.terms.renew_after_s);
        if (!held.isRenewalDue()) course.failure = null;
        if (isNameDoubted) await askName(signal);
        return;
      case "unknown-here":
        return;
      case "doubted":
        isDoubted = true;
        return;
      case "refused":
        return refuse(verdict);
      case "later":
        if (failedHeartbeats === 0) log.warn("heartbeat-failed", { detail: verdict.detail });
        failedHeartbeats += 1;
        course.failure = verdict;
        heartbeats.postpone(heartbeatPace.after(verdict));
    }
  }

  /** Asks the service how it calls this robot, which registers with that name from then on. */
  async function askName(signal: AbortSignal): Promise<void> {
    const { record, secret } = held;
    if (record === null || secret === null || !isPathParameter(record.robot_id)) return;
    const result = await options.service().client.getRobot(record.robot_id, secret, signal);
    signal.throwIfAborted();
    const verdict = judgeName(result, record.robot_id);
    // Without an answer it is asked with the next heartbeat.
    if ("kind" in verdict) return;
    const { name } = verdict;
    isNameDoubted = isNameRefused;
    if (name === null || name === record.robot_name) return;
    log.info("robot-renamed", { from: record.robot_name, to: name });
    await held.rename(name);
    await adopt();
  }

  function renewalMs(): number {
    if (isDoubted) return Math.max(renewalAllowedMs, doubtAllowedMs);
    return held.isRenewalDue() ? renewalAllowedMs : Math.max(renewalAllowedMs, held.renewalDueMs);
  }

  return {
    /** Renews and reports as far as due. */
    async advance(key: KeyRecord, signal: AbortSignal) {
      if (isDoubted && held.useUnsaved()) await adopt();
      if (clock.monotonicMs() >= renewalMs()) await renew(key, signal);
      const mayBeat = course.standing.kind === "enrolled" && !isDoubted;
      if (mayBeat && clock.monotonicMs() >= heartbeats.dueMs) await beat(signal);
    },
    renew,
    /** Monotonic time of the next renewal or heartbeat; in the past when it is due. */
    nextMs: () => (isDoubted ? renewalMs() : Math.min(renewalMs(), heartbeats.dueMs)),
    /** Another credential is in use. @param isFirst after an enrolment, or after a refusal. */
    credentialChanged(isFirst: boolean) {
      if (isDoubted) heartbeats.hurry();
      isDoubted = false;
      if (isFirst) heartbeats.resume();
    },
    /** The service refused the credential: a renewal decides. @param isAsked a person waits for it, whenever it is due. */
    doubt(isAsked = false) {
      isDoubted = true;
      if (isAsked) renewalAllowedMs = 0;
    },
    doubtName() {
      isNameDoubted = true;
      isNameRefused = true;
      heartbeats.hurry();
    },
    /** Returns true if a heartbeat is due earlier for it. */
    readinessChanged(): boolean {
      const beforeMs = heartbeats.dueMs;
      const readiness = options.readiness();
      if (readiness.problem === null) isNameRefused = false;
      heartbeats.changed(readiness);
      return heartbeats.dueMs < beforeMs;
    },
    /** By the wall clock; null when none was accepted since the start. */
    get lastHeartbeatAt() {
      return lastHeartbeatAt;
    },
  };
}
