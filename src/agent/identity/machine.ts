/**
 * The identity of this robot as one state machine: it enrolls (enrolment.ts), renews its credential (credential.ts) and reports that it is
 * alive (heartbeats.ts), in a loop of its own beside the agent's.
 *
 * Each turn does what is due. All times are monotonic or relative, so a wrong wall clock delays nothing. A credential is on the disk before
 * its first use, because that use ends the enrolment and the previous value.
 */
import type { Credential, CredentialProblem } from "../../client/credential.ts";
import { createIdentityClient } from "../../client/identity-client.ts";
import { within } from "../../platform/clock.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { createAlarm } from "../alarm.ts";
import type { IdentityStatus } from "../status.ts";
import { atHome, createPace, judgeRenewal, later, type Later, type RefusedState } from "./answers.ts";
import { enrolmentRequest } from "./approval.ts";
import { createHeldCredential } from "./credential.ts";
import { createEnrolment, discardEnrolmentKey, type Progress } from "./enrolment.ts";
import type { IdentitySettings, IdentityView, MachineOptions, RunReport } from "./exchange.ts";
import { createHeartbeats } from "./heartbeats.ts";
import { belonging } from "./identity-files.ts";
import { signRenewal } from "./key.ts";

export type IdentityMachine = ReturnType<typeof createIdentityMachine>;

type Standing =
  | { readonly kind: "enrolling" }
  | { readonly kind: "enrolled" }
  | {
      readonly kind: "refused";
      readonly state: RefusedState;
      readonly detail: string;
      /** The service that was configured. */
      readonly url: string;
    };

interface Task {
  /** Monotonic; in the past when it is due. */
  readonly atMs: number;
  run(signal: AbortSignal): Promise<void>;
}

/** The wall clock is looked at so often, in case the machine was suspended. */
const LONGEST_WAIT_MS = 15 * 60_000;
/** Between two renewals, whatever the service says; longer for one that renews a credential and refuses it again. */
const RENEWAL_GAP_MS = 30_000;
const DOUBT_GAP_MS = 5 * 60_000;
/** Between two starts, where codes end before they were polled once: each start costs the disk two syncs. */
const START_GAP_MS = 100_000;
/** An enrolment waits so long for the digest of the files, which the approver sees. */
const FIRST_RESULT_LIMIT_MS = 10_000;
const ENDED_AT_ONCE = atHome("the service ends each code at once");

export function createIdentityMachine(options: MachineOptions) {
  const { machine, log, files, stored } = options;
  const { clock, random } = machine;
  const alarm = createAlarm(clock);
  const held = createHeldCredential({ machine, files, log, stored: belonging(stored.credential, stored.key) });
  const enrolment = createEnrolment(options, held);
  const heartbeats = createHeartbeats(options);
  const pace = createPace(random);
  let { settings, report } = options;
  let client = createIdentityClient(settings.connection.access);
  let standing: Standing = { kind: held.record === null ? "enrolling" : "enrolled" };
  /** Why the last request failed; null when it did not. */
  let failure: Later | null = null;
  /** Monotonic: no start, poll or renewal before. */
  let notBeforeMs = 0;
  /** The credential that the agent knows of. */
  let adopted = held.record;
  /** The service refused the credential: a renewal decides. */
  let isDoubted = false;
  /** An operator may have renamed the robot meanwhile. */
  let isNameDoubted = held.record !== null;
  /** The service refused a registration of this name: it is asked until one stands. */
  let isNameRefused = false;
  /** What a person asked for; `again`: the identity was refused already. */
  let asked: "now" | "again" | null = null;
  /** Monotonic: no start before, once a code ended. */
  let startAllowedMs = 0;
  const askers: PromiseWithResolvers<void>[] = [];
  let isTurning = false;
  /** Resolves with the first report of files that were read, or cannot be. */
  const settled = Promise.withResolvers<void>();
  const describeUntilMs = clock.monotonicMs() + FIRST_RESULT_LIMIT_MS;
  const counts = { enrolments: 0, returns: 0 };
  /** What the agent was woken for. */
  let told = news();
  if (standing.kind === "enrolled") heartbeats.resume(heartbeatMs());

  function heartbeatMs(): number {
    return settings.configuration.service.heartbeat_s * 1000;
  }

  function discardKey(): Promise<void> {
    return discardEnrolmentKey(settings.configuration.service.enrolment_key_file, machine.files, log);
  }

  /** The identity is one of another service: nothing of it is sent to this one. */
  function isElsewhere(): boolean {
    return enrolment.key !== null && enrolment.key.service_url !== settings.connection.serviceUrl;
  }

  /** Approved, but the credential is not on the disk, so it is not used yet. */
  function isWaitingForDisk(): boolean {
    return held.record === null && held.saveDueMs !== Number.POSITIVE_INFINITY;
  }

  /** Nothing is lost with an identity of another service that has no credential: an enrolment ends by itself. */
  function mayBeginAnew(): boolean {
    return isElsewhere() && held.record === null && !isWaitingForDisk();
  }

  function wait(verdict: Later): void {
    if (failure === null) log.warn("identity-delayed", { detail: verdict.detail });
    failure = verdict;
    notBeforeMs = clock.monotonicMs() + pace.after(verdict);
  }

  function answered(): void {
    pace.reset();
    failure = null;
  }

  function refuse(state: RefusedState, detail: string, retryInMs = pace.afterRefusal(state)): void {
    const isNews = standing.kind !== "refused" || standing.state !== state;
    standing = { kind: "refused", state, detail, url: settings.connection.serviceUrl };
    failure = null;
    notBeforeMs = clock.monotonicMs() + retryInMs;
    if (isNews) log.warn("identity-refused", { state, detail });
  }

  /** Uses what the service issued, unless it waits for the disk. */
  async function adopt(): Promise<void> {
    const { record } = held;
    if (record === null || record === adopted) return;
    adopted = record;
    const wasEnrolled = standing.kind === "enrolled";
    standing = { kind: "enrolled" };
    if (isDoubted) heartbeats.hurry();
    isDoubted = false;
    await enrolment.forget();
    if (wasEnrolled) return;
    heartbeats.resume(heartbeatMs());
    await discardKey();
    log.info("enrolled", { robot: record.robot_name, installation: record.installation_id });
    counts.enrolments += 1;
  }

  /** A fresh key, and a code for it at once. */
  async function beginAnew(): Promise<void> {
    const failed = await enrolment.beginAnew(settings.connection.serviceUrl);
    if (failed !== null) return wait(failed);
    standing = { kind: "enrolling" };
    failure = null;
    notBeforeMs = 0;
  }

  /**
   * What a person asked for: a key where there is none, and a fresh one in place of one that is not accepted. Only a user who may write
   * the state directory may discard a credential, so that one is discarded when its key file was moved away.
   */
  async function answerAsked(): Promise<void> {
    const mayDiscard = asked === "again";
    asked = null;
    if (mayDiscard && (held.record === null || !(await files.hasKey()))) await beginAnew();
    else if (standing.kind === "enrolling") notBeforeMs = 0;
  }

  /** What is to be done, and when; the first one that is due is done. */
  function tasks(): readonly Task[] {
    if (mayBeginAnew()) return [{ atMs: notBeforeMs, run: beginAnew }];
    if (isElsewhere()) {
      const isSaid = standing.kind === "refused" && standing.url === settings.connection.serviceUrl;
      // A person is waited for, once that is said.
      return isSaid ? [] : [{ atMs: 0, run: sayElsewhere }];
    }
    const saving = { atMs: held.saveDueMs, run: saveAgain };
    switch (standing.kind) {
      case "enrolling":
        return isWaitingForDisk() ? [saving] : [saving, { atMs: notBeforeMs, run: enroll }];
      case "refused":
        return held.record === null ? [saving] : [saving, { atMs: notBeforeMs, run: renew }];
      case "enrolled": {
        if (held.record !== adopted) return [{ atMs: 0, run: adopt }];
        const renewing = { atMs: renewalMs(), run: renew };
        return isDoubted ? [saving, renewing] : [saving, renewing, { atMs: heartbeats.dueMs, run: beat }];
      }
    }
  }

  async function turn(signal: AbortSignal): Promise<void> {
    if (asked !== null) await answerAsked();
    const nowMs = clock.monotonicMs();
    await tasks()
      .find(({ atMs }) => atMs <= nowMs)
      ?.run(signal);
  }

  function nextMs(): number {
    return Math.min(clock.monotonicMs() + LONGEST_WAIT_MS, ...tasks().map(({ atMs }) => atMs));
  }

  async function sayElsewhere(): Promise<void> {
    const { service_url: url } = enrolment.key ?? { service_url: "another service" };
    // Asked at once when the address is corrected.
    refuse("unenrolled", `this robot is enrolled at ${url}`, 0);
  }

  async function saveAgain(): Promise<void> {
    await held.save();
    if (isDoubted) held.useUnsaved();
    await adopt();
  }

  /** The service refused the credential: a newer one may wait for the disk; otherwise a renewal decides. */
  function doubt(): void {
    isDoubted = true;
    held.useUnsaved();
  }

  async function enroll(signal: AbortSignal): Promise<void> {
    const limitMs = describeUntilMs - clock.monotonicMs();
    // A disk that is slow or does not answer must not keep the robot from its code.
    if (!report.isSettled && limitMs > 0) await within(settled.promise, limitMs, clock, signal);
    const parts = { hostname: machine.identity.hostname(), machine: await machine.identity.machine() };
    const robot = enrolmentRequest(settings.configuration, report.robotTypeId, report.digest, parts);
    await takeProgress(await enrolment.advance({ settings, client }, robot, signal));
  }

  async function takeProgress(progress: Progress): Promise<void> {
    switch (progress.kind) {
      case "later":
        return wait(progress);
      case "refused":
        return refuse(progress.state, progress.detail);
      case "waiting":
        answered();
        startAllowedMs = progress.isNew ? clock.monotonicMs() + START_GAP_MS : 0;
        notBeforeMs = clock.monotonicMs() + progress.pollInMs;
        return;
      case "over":
        notBeforeMs = startAllowedMs;
        failure = startAllowedMs > clock.monotonicMs() ? ENDED_AT_ONCE : null;
        return;
      case "approved":
        answered();
        notBeforeMs = 0;
        return adopt();
    }
  }

  /** Monotonic time of the next renewal of a credential in use; in the past when it is due. */
  function renewalMs(): number {
    return isDoubted || held.isRenewalDue() ? notBeforeMs : Math.max(notBeforeMs, held.renewalDueMs);
  }

  async function renew(signal: AbortSignal): Promise<void> {
    const { record, secret } = held;
    const { key } = enrolment;
    if (record === null || secret === null || key === null) return;
    const result = await client.renew(signRenewal(key, record.installation_id, random), secret, signal);
    signal.throwIfAborted();
    if (result.kind === "ok") {
      answered();
      notBeforeMs = clock.monotonicMs() + (isDoubted ? DOUBT_GAP_MS : RENEWAL_GAP_MS);
      if (result.value.recovered) log.warn("credential-recovered");
      await held.take(key.public_key, result.value, record);
      return adopt();
    }
    const verdict = judgeRenewal(result);
    if (verdict.kind === "later") return wait(verdict);
    isDoubted = false;
    refuse(verdict.state, verdict.detail);
  }

  async function beat(signal: AbortSignal): Promise<void> {
    const { secret } = held;
    if (secret === null) return;
    const sent = await heartbeats.send(client, secret, report.readiness, heartbeatMs(), signal);
    switch (sent.kind) {
      case "accepted":
        if (sent.isBack) counts.returns += 1;
        held.correct(sent.renewAfterS);
        if (!held.isRenewalDue()) failure = null;
        if (isNameDoubted) await learnName(signal);
        return;
      case "doubted":
        return doubt();
      case "refused":
        return refuse(sent.state, sent.detail);
      case "later":
        failure = sent;
    }
  }

  /** The robot registers with the name that the service has for it. */
  async function learnName(signal: AbortSignal): Promise<void> {
    const { record, secret } = held;
    if (record === null || secret === null) return;
    const result = await client.getRobot(record.robot_id, secret, signal);
    signal.throwIfAborted();
    // Without an answer it is asked with the next heartbeat.
    if (result.kind !== "ok" && later(result).state === "unreachable") return;
    isNameDoubted = isNameRefused;
    if (result.kind !== "ok" || result.value.id !== record.robot_id || result.value.name === record.robot_name) return;
    log.info("robot-renamed", { from: record.robot_name, to: result.value.name });
    await held.rename(result.value.name);
    await adopt();
  }

  /** Resolves after the next turn that begins. */
  function nextTurn(): Promise<void> {
    const answer = Promise.withResolvers<void>();
    askers.push(answer);
    alarm.ring();
    return answer.promise;
  }

  /** Changes with the credential. */
  function version(): string {
    const { installation_id: id = "", issued_at: issuedAt = "", robot_name: name = "" } = held.record ?? {};
    return `${id} ${issuedAt} ${name} ${standing.kind}`;
  }

  /** Changes with everything that the agent acts on. */
  function news(): string {
    const { user_code: code, waits_because: because } = enrolment.waiting ?? {};
    return JSON.stringify([version(), stateName(standing), code, because, counts]);
  }

  return {
    /** Works until the signal aborts. Rejects only for a bug. */
    async run(signal: AbortSignal) {
      try {
        if (standing.kind === "enrolled") {
          // After a power cut between the enrolment and these removals.
          await enrolment.forget();
          if (!isElsewhere()) await discardKey();
        }
        for (;;) {
          await alarm.wait(nextMs(), signal);
          const { length } = askers;
          isTurning = true;
          await turn(signal);
          isTurning = false;
          if (news() !== told) options.wake();
          told = news();
          for (const { resolve } of askers.splice(0, length)) resolve();
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        for (const { resolve } of askers) resolve();
      }
    },
    /** Another configuration is in force: what failed may be corrected, so an old failure counts no more. */
    use(next: IdentitySettings) {
      settings = next;
      client = createIdentityClient(next.connection.access);
      if (standing.kind === "enrolling" && enrolment.waiting === null) {
        failure = null;
        notBeforeMs = 0;
      }
      alarm.ring();
    },
    report(next: RunReport) {
      report = next;
      if (report.isSettled) settled.resolve();
      if (standing.kind !== "enrolled") return;
      const beforeMs = heartbeats.dueMs;
      if (report.readiness.problem === null) isNameRefused = false;
      heartbeats.changed(report.readiness);
      if (heartbeats.dueMs < beforeMs) alarm.ring();
    },
    /** The service refused the robot with its credential; see `RobotIdentity`. */
    credentialRefused(refusal: "unauthorized" | "forbidden") {
      if (standing.kind !== "enrolled") return;
      if (refusal === "unauthorized") doubt();
      else {
        isNameDoubted = true;
        isNameRefused = true;
        heartbeats.hurry();
      }
      alarm.ring();
    },
    /** The credential for this service; null while the robot never had one. */
    credential(serviceUrl: string): Credential | CredentialProblem | null {
      const { record, secret } = held;
      if (record === null || secret === null) return null;
      const where = files.credentialPath;
      if (standing.kind === "enrolled" && enrolment.key?.service_url === serviceUrl)
        return { kind: "credential", secret, source: "enrolment", where };
      const what = standing.kind === "refused" ? standing.detail : "this robot is enrolled at another service";
      const fix = "enroll it again: sudo robot-policy-agent enroll";
      return { kind: "credential-problem", code: "not-enrolled", what, where, fix };
    },
    /** See `RobotIdentity`. */
    async retry(): Promise<boolean> {
      const isRefused = standing.kind === "refused" && held.record !== null && !isElsewhere();
      const hasFailed = standing.kind === "enrolling" && enrolment.waiting === null && failure !== null;
      // The service refused a registration just now.
      const isDoubtful = standing.kind === "enrolled" && (isDoubted || isNameRefused);
      if (!isRefused && !hasFailed && !isDoubtful) return false;
      notBeforeMs = 0;
      await nextTurn();
      return true;
    },
    /** See `RobotIdentity`. */
    enroll() {
      // A start or poll that is under way answers the command.
      if (!isTurning || standing.kind !== "enrolling")
        asked = standing.kind === "refused" || isElsewhere() ? "again" : "now";
      return nextTurn();
    },
    view(): IdentityView {
      const state = stateName(standing);
      const { key, waiting } = enrolment;
      const { record } = held;
      return {
        status: {
          state,
          key_fingerprint: key === null ? null : keyFingerprint(key.public_key),
          user_code: waiting?.user_code ?? null,
          waits_because: waiting?.waits_because ?? null,
          code_expires_at: waiting?.expires_at ?? null,
          robot: record === null ? null : { id: record.robot_id, name: record.robot_name },
          installation_id: record?.installation_id ?? null,
          credential_expires_at: record?.credential_expires_at ?? null,
          last_heartbeat_at: heartbeats.acceptedAt,
          problem: standing.kind === "refused" ? standing.detail : (held.problem ?? failure?.detail ?? null),
          problem_state: standing.kind === "enrolling" ? (failure?.state ?? null) : null,
        },
        held: state === "enrolled" ? null : state,
        mayUseApiKey: record === null && settings.configuration.service.identity !== "enrolled",
        approved: record,
        before: key?.before ?? null,
        version: version(),
        ...counts,
      };
    },
  };
}

function stateName(standing: Standing): Exclude<IdentityStatus["state"], "identity-unreadable"> {
  if (standing.kind === "refused") return standing.state;
  return standing.kind === "enrolled" ? "enrolled" : "waiting-for-approval";
}
