import type { RobotView } from "../api/robot-views.ts";
import type { RobotSetup } from "../api/robots.ts";
import type { ServiceClient } from "../client/client.ts";
import type { Snapshot } from "../fingerprint/snapshot.ts";
import { errorCode } from "../platform/files/files.ts";
import type { Machine } from "../platform/machine.ts";
import { createBackoff } from "../platform/retry.ts";
import type { Collector, Unsettled } from "./collector.ts";
import type { Refusal } from "./decide.ts";
import { decide } from "./decide.ts";
import type { LocatedFinding } from "./findings.ts";
import { disputeFindings, rejectionFindings } from "./findings.ts";
import type { Outcome } from "./outcome.ts";
import { judge } from "./outcome.ts";
import type { Confirmation, Verdict } from "./registration/confirmation.ts";
import { askWhetherHeld, createConfirmations } from "./registration/confirmation.ts";
import { createCredentialVersions } from "./registration/credential-version.ts";
import { createRateCap } from "./registration/rate-cap.ts";
import type { Registration } from "./registration/registration.ts";
import { isSaved, saveRegistration } from "./registration/registration.ts";

/** What one run came to. */
export type Step =
  | Unsettled
  | { readonly kind: "unchanged" }
  /** Backing off after `failure`, or held back by the rate cap where there is none. */
  | { readonly kind: "waiting"; readonly untilMs: number; readonly failure: Outcome | null }
  | { readonly kind: "refused"; readonly reason: Refusal }
  | { readonly kind: "registered"; readonly registration: Registration }
  | { readonly kind: "failed"; readonly failure: Outcome };

/** Collect, decide, act, record: one run of the agent's only flow, and what it remembers between runs. */
export interface Reconciler {
  /** Runs once. Not to be called again before it resolved. @throws `signal.reason` when the signal aborts. */
  reconcile(request: ReconcileRequest): Promise<Step>;
  /** Forgets the registration where its file was moved away; false where the file is there. Not during a run. */
  forgetMoved(): Promise<boolean>;
  /** True when nothing calls for a run: synchronous stats only, no thread, no disk. Local filesystems only. */
  holds(): boolean;
  readonly registration: Registration | null;
  readonly failure: Outcome | null;
  /** Why the last registration could not be written to disk, null when it was. */
  readonly stateProblem: string | null;
  readonly findings: readonly LocatedFinding[];
  /** What is known of whether the service holds the registration. */
  readonly confirmation: Confirmation;
}

export interface ReconcileRequest {
  /** A person asked: register even what is registered, and skip waits. */
  readonly forced: boolean;
  /** A person asked whether the service still holds what is registered. */
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
  /** The service was asked, and does not hold the registration: it is sent again. */
  onLost(verdict: Extract<Verdict, { kind: "lost" | "replaced" | "untold" }>): void;
}

export interface Connection {
  readonly client: ServiceClient;
  readonly service_url: string;
  /** Files that may hold the key, so that its replacement is noticed. */
  readonly credential_paths: readonly string[];
  /** Loads what a request needs, ahead of one that is likely soon. */
  prepare(): void;
  close(): Promise<void>;
}

/** A service that restarts is found again at once; one that is down for a day is not disturbed. */
const FIRST_RETRY_MS = 1000;
const SLOWEST_RETRY_MS = 5 * 60_000;

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { machine, collector } = options;
  const { clock, files } = machine;
  const backoff = createBackoff({ firstMs: FIRST_RETRY_MS, capMs: SLOWEST_RETRY_MS, random: machine.random });
  const rateCap = createRateCap();
  const confirmations = createConfirmations(machine);
  const credentials = createCredentialVersions(machine);
  let { registration } = options;
  let failure: Outcome | null = null;
  let credentialVersion = "";
  /** Something is to be sent that the service refused. */
  let isRefusalInForce = false;
  let unsaved = false;
  /** On the disk. A doubt that a refusal dispelled is left there: one request after a restart, instead of two writes for each retry. */
  let isDoubtSaved = options.registration?.in_doubt ?? false;
  let stateProblem: string | null = null;

  async function register(body: RobotSetup, machineId: string | null, signal: AbortSignal): Promise<Step> {
    options.onRegistering(body);
    const { client, service_url } = options.connection();
    const hashed: Snapshot["files"] = collector.snapshot?.files ?? [];
    const wasInDoubt = registration?.in_doubt ?? true;
    const result = await client.setupRobot(body, signal, castDoubt());
    signal.throwIfAborted();
    const nowMs = clock.monotonicMs();
    const unitRandom = () => machine.random.unit();
    const attempt = judge(result, {
      body,
      service_url,
      credential_version: credentialVersion,
      nowMs,
      wallMs: clock.wallMs(),
      backoff,
      unitRandom,
    });
    if (attempt.kind === "failed") {
      if (attempt.failure.state !== "unreachable") {
        // The service works and refuses: files that flap must not ask it twice a second. Trouble on the way has its backoff.
        rateCap.take(body.configuration_digest, nowMs);
        if (!wasInDoubt && registration !== null) registration = { ...registration, in_doubt: false };
      }
      failure = attempt.failure;
      return { kind: "failed", failure };
    }
    backoff.reset();
    failure = null;
    rateCap.take(body.configuration_digest, nowMs);
    if (isAnew(registration, service_url, attempt.robot))
      options.onLost({ kind: "lost", detail: `the service had no robot ${body.name} any more` });
    registration = {
      service_url,
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

  /** Asks the service. What it does not hold is in doubt, and sent again as after a request whose answer was lost. */
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
   * Before a request that may be taken without an answer: from now on the last registration may not be what the service holds, even
   * if the files go back to it, and even after a power cut. Retries find it said already, or the disk closed a moment ago.
   */
  async function castDoubt(): Promise<void> {
    if (registration === null) return;
    registration = { ...registration, in_doubt: true };
    if (isDoubtSaved || unsaved) return;
    unsaved = true;
    await save(registration);
  }

  /** A full or read-only disk keeps nobody from registering; the state is written as soon as it can be. */
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
    const { service_url, credential_paths: credentialPaths, prepare } = options.connection();
    if (collected.kind === "unsettled") {
      // The wait is a good time to load what the request will need.
      prepare();
      return collected;
    }
    if (unsaved && registration !== null) await save(registration);
    credentialVersion = await credentials.look(credentialPaths);

    const { wanted, machine_id: machineId } = collected;
    const nowMs = clock.monotonicMs();
    const decision = decide({
      wanted,
      registration,
      lastFailure: failure,
      credentialVersion,
      machine: machineId,
      service_url,
      forced,
      rateCappedUntilMs:
        wanted.kind === "body" ? rateCap.untilMs(wanted.body.configuration_digest) : Number.NEGATIVE_INFINITY,
      nowMs,
    });
    isRefusalInForce = decision.kind === "wait" || decision.kind === "register";
    switch (decision.kind) {
      case "nothing":
        // The failure is kept: files that flap between two contents must not slip past the backoff.
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
        // The question took its time: what is sent now is looked at anew.
        if (step !== "doubtful") return step;
      }
    },
    async forgetMoved() {
      if (await isSaved(files, options.stateDirectory)) return false;
      registration = null;
      unsaved = false;
      isDoubtSaved = false;
      return true;
    },
    holds() {
      if (unsaved) return false;
      return credentials.holds(options.connection().credential_paths) && collector.holds();
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

/** The same service took the same name for a robot that it had never seen. */
function isAnew(before: Registration | null, service_url: string, robot: RobotView): boolean {
  return before !== null && before.service_url === service_url && before.robot.id !== robot.id;
}
