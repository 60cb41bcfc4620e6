import type { RobotView } from "../api/robot-views.ts";
import type { RobotSetup } from "../api/robots.ts";
import type { ServiceClient } from "../client/client.ts";
import type { ServiceAccess } from "../client/send-request.ts";
import type { Snapshot } from "../fingerprint/snapshot.ts";
import { errorCode } from "../platform/files/files.ts";
import type { Machine } from "../platform/machine.ts";
import { createBackoff } from "../platform/retry.ts";
import type { Collector } from "./collector.ts";
import type { HeldBack } from "./decide.ts";
import { decide } from "./decide.ts";
import type { LocatedFinding } from "./findings.ts";
import { disputeFindings, rejectionFindings } from "./findings.ts";
import type { Outcome } from "./outcome.ts";
import { judge } from "./outcome.ts";
import type { Confirmation, Verdict } from "./registration/confirmation.ts";
import { askWhetherHeld, createConfirmations } from "./registration/confirmation.ts";
import { createCredentialVersions } from "./registration/credential-version.ts";
import { createRateCap } from "./registration/rate-cap.ts";
import type { Registration } from "./registration/record.ts";
import { isSaved, saveRegistration } from "./registration/registration.ts";
import type { Step } from "./step.ts";

/** One run of the agent: collect, decide, act, record; and the state kept between runs. */
export interface Reconciler {
  /** Runs once. Do not call it again before it resolves. @throws `signal.reason` when the signal aborts. */
  reconcile(request: ReconcileRequest): Promise<Step>;
  /** The service answers again: a registration that waits for it is sent soon. */
  hurry(): void;
  /** Forgets the registration if its file was moved away; false when the file is there. Do not call it during a run. */
  forgetMoved(): Promise<boolean>;
  /** True when no run is needed. Synchronous stats only, so for local filesystems only. */
  isUnchanged(): boolean;
  readonly registration: Registration | null;
  readonly failure: Outcome | null;
  /** Why the last registration could not be written to disk; null when it was. */
  readonly stateProblem: string | null;
  readonly findings: readonly LocatedFinding[];
  /** Whether the service still has the registration, as far as known. */
  readonly confirmation: Confirmation;
}

export interface ReconcileRequest {
  /** Requested by a person: register even when nothing changed, and skip waits. */
  readonly forced: boolean;
  /** Requested by a person: ask the service whether it still has the registration. */
  readonly confirm: boolean;
  readonly signal: AbortSignal;
}

export interface ReconcilerOptions {
  readonly machine: Machine;
  readonly collector: Collector;
  readonly stateDirectory: string;
  readonly registration: Registration | null;
  /** The connection of the configuration in force. */
  connection(): Connection;
  onRegistering(body: RobotSetup): void;
  /** The robot's own credential; absent in commands, which read it from the disk. */
  readonly identity?: OwnIdentity;
  /** Called when the service was asked and does not confirm the registration, before it is sent again. */
  onLost(verdict: Extract<Verdict, { kind: "lost" | "replaced" | "unknown" }>): void;
}

/** The identity of a robot, as far as registering depends on it. */
export interface OwnIdentity {
  /** Why the robot's own credential must not be used now; null when it may, and where the API key is used. */
  heldBack(): Promise<HeldBack | null>;
  /** Changes with the credential. */
  readonly version: string;
}

export interface Connection {
  readonly client: ServiceClient;
  /** For requests about the robot's identity. */
  readonly access: ServiceAccess;
  readonly serviceUrl: string;
  /** The user that this program runs as. */
  readonly userId: number;
  /** Whether there is an API key that could be used. */
  hasApiKey(): Promise<boolean>;
  /** Files that may contain the key; watched so that a new key is noticed. */
  readonly credentialPaths: readonly string[];
  /** Loads the code for a request that is likely soon. */
  prepare(): void;
  close(): Promise<void>;
}

/** Short enough to find a restarted service quickly; the cap keeps the load low on one that is down for long. */
export const REGISTRATION_BACKOFF = { firstMs: 1000, capMs: 5 * 60_000 } as const;

/** After an outage, registrations are sent within this time. A whole fleet hears at about the same moment that it is over. */
export const RETURN_SPREAD_MS = 30_000;

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { machine, collector } = options;
  const { clock, files } = machine;
  const backoff = createBackoff({ ...REGISTRATION_BACKOFF, random: machine.random });
  const rateCap = createRateCap();
  const confirmations = createConfirmations(machine);
  const credentials = createCredentialVersions(machine);
  let { registration } = options;
  let failure: Outcome | null = null;
  let credentialVersion = "";
  /** The wanted body is one that the service refused. */
  let isRefusalInForce = false;
  let unsaved = false;
  /** `in_doubt` as it is on disk. After a refusal it stays true there: that costs one request after a restart, but saves two writes per retry. */
  let isDoubtSaved = options.registration?.in_doubt ?? false;
  let stateProblem: string | null = null;
  /** Monotonic time of the last `hurry`. */
  let returnedMs = Number.NEGATIVE_INFINITY;

  async function register(body: RobotSetup, machineId: string | null, signal: AbortSignal): Promise<Step> {
    options.onRegistering(body);
    const { client, serviceUrl } = options.connection();
    const hashed: Snapshot["files"] = collector.snapshot?.files ?? [];
    const wasInDoubt = registration?.in_doubt ?? true;
    const sentMs = clock.monotonicMs();
    const result = await client.setupRobot(body, signal, markInDoubt());
    signal.throwIfAborted();
    const nowMs = clock.monotonicMs();
    const unitRandom = () => machine.random.unit();
    const attempt = judge(result, {
      body,
      serviceUrl,
      credentialVersion,
      nowMs,
      wallMs: clock.wallMs(),
      backoff,
      unitRandom,
    });
    if (attempt.kind === "failed") {
      if (attempt.failure.state !== "unreachable") {
        // Refusals count for the rate cap, so that flapping files do not flood the service. Unreachable services have the backoff.
        rateCap.take(body.configuration_digest, nowMs);
        if (!wasInDoubt && registration !== null) registration = { ...registration, in_doubt: false };
      }
      failure = attempt.failure;
      // It was sent into the outage that is over meanwhile.
      if (sentMs <= returnedMs) failure = hurried(failure);
      return { kind: "failed", failure };
    }
    backoff.reset();
    failure = null;
    rateCap.take(body.configuration_digest, nowMs);
    if (isNewRobot(registration, serviceUrl, attempt.robot))
      options.onLost({ kind: "lost", detail: `the service had no robot ${body.name} any more` });
    registration = {
      service_url: serviceUrl,
      machine: machineId,
      request: body,
      in_doubt: false,
      files: hashed,
      robot: attempt.robot,
      registered_at: new Date(clock.wallMs()).toISOString(),
    };
    confirmations.registered();
    unsaved = true;
    await save(registration);
    return { kind: "registered", registration };
  }

  function hurried(outcome: Outcome): Outcome {
    if (outcome.state !== "unreachable" || outcome.isDelayAsked) return outcome;
    const soonMs = clock.monotonicMs() + RETURN_SPREAD_MS * machine.random.unit();
    return { ...outcome, retryAtMs: Math.min(outcome.retryAtMs, soonMs) };
  }

  /** Asks the service. When it does not confirm the registration, marks it in doubt, so that it is sent again. */
  async function confirm(registered: Registration, signal: AbortSignal): Promise<Step | "doubtful"> {
    const verdict = await askWhetherHeld(options.connection().client, registered, signal);
    signal.throwIfAborted();
    confirmations.take(verdict);
    if (verdict.kind === "held" || verdict.kind === "unanswered") return { kind: "unchanged" };
    registration = { ...registered, in_doubt: true };
    options.onLost(verdict);
    return "doubtful";
  }

  /**
   * Records on disk, before a request is sent, that the service may soon have another registration than the last known one, even if the
   * answer is lost or the power fails. Retries do not write again, nor does a disk that just refused a write.
   */
  async function markInDoubt(): Promise<void> {
    if (registration === null) return;
    registration = { ...registration, in_doubt: true };
    if (isDoubtSaved || unsaved) return;
    unsaved = true;
    await save(registration);
  }

  /** A full or read-only disk does not prevent registration; the state is written at a later run. */
  async function save(unwritten: Registration): Promise<void> {
    try {
      await saveRegistration(files, options.stateDirectory, unwritten);
      unsaved = false;
      isDoubtSaved = unwritten.in_doubt;
      stateProblem = null;
    } catch (error) {
      stateProblem = `${options.stateDirectory} cannot be written (${errorCode(error) ?? "unknown error"})`;
    }
  }

  async function look(request: ReconcileRequest): Promise<Step | "doubtful"> {
    const { forced, signal } = request;
    const collected = await collector.collect(true, signal);
    const { serviceUrl, credentialPaths, prepare } = options.connection();
    if (collected.kind === "unsettled") {
      // Load the code for the request during the wait.
      prepare();
      return collected;
    }
    if (unsaved && registration !== null) await save(registration);
    credentialVersion = `${await credentials.look(credentialPaths)} ${options.identity?.version ?? ""}`;

    const { wanted, machineId } = collected;
    const nowMs = clock.monotonicMs();
    const decision = decide({
      wanted,
      registration,
      lastFailure: failure,
      credentialVersion,
      machine: machineId,
      serviceUrl,
      held: (await options.identity?.heldBack()) ?? null,
      isNameApproved: collector.isNameApproved,
      forced,
      rateCappedUntilMs:
        wanted.kind === "body" ? rateCap.untilMs(wanted.body.configuration_digest) : Number.NEGATIVE_INFINITY,
      nowMs,
    });
    isRefusalInForce = decision.kind === "wait" || decision.kind === "register";
    switch (decision.kind) {
      case "nothing":
        // Keep the last failure, so that files that flap between two contents cannot bypass the backoff.
        if (registration === null || (!request.confirm && nowMs < confirmations.current.dueMs))
          return { kind: "unchanged" };
        return confirm(registration, signal);
      case "wait":
        return {
          kind: "waiting",
          untilMs: decision.untilMs,
          failure: decision.reason === "backoff" ? failure : null,
        };
      case "refuse":
        return { kind: "refused", reason: decision.reason };
      case "register":
        return register(decision.body, machineId, signal);
    }
  }

  return {
    async reconcile(request) {
      for (;;) {
        const step = await look(request);
        // The request took time, so collect again before registering.
        if (step !== "doubtful") return step;
      }
    },
    hurry() {
      returnedMs = clock.monotonicMs();
      if (failure !== null) failure = hurried(failure);
    },
    async forgetMoved() {
      if (await isSaved(files, options.stateDirectory)) return false;
      registration = null;
      unsaved = false;
      isDoubtSaved = false;
      return true;
    },
    isUnchanged() {
      if (unsaved) return false;
      return credentials.isUnchanged(options.connection().credentialPaths) && collector.isUnchanged();
    },
    get registration() {
      return registration;
    },
    get failure() {
      return failure;
    },
    get stateProblem() {
      return stateProblem;
    },
    get findings() {
      const { configuration, manifest } = collector.documents;
      const validation = isRefusalInForce ? (failure?.validation ?? []) : [];
      const rejections = rejectionFindings(validation, configuration, manifest);
      return [...collector.findings, ...rejections, ...disputeFindings(confirmations.current, configuration)];
    },
    get confirmation() {
      return confirmations.current;
    },
  };
}

/** True when the same service created a new robot for the same name: it had lost the old one. */
function isNewRobot(before: Registration | null, serviceUrl: string, robot: RobotView): boolean {
  return before !== null && before.service_url === serviceUrl && before.robot.id !== robot.id;
}
