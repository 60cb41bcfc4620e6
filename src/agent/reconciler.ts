import type { RobotSetup } from "../api/robots.ts";
import type { Look, Looked } from "../look/look.ts";
import type { Snapshot } from "../look/snapshot.ts";
import { isoNow } from "../platform/clock.ts";
import type { Log } from "../platform/log/log.ts";
import type { Machine } from "../platform/machine.ts";
import { createBackoff } from "../platform/retry.ts";
import { type Changes, changesSince } from "./changes.ts";
import type { Collection, Collector, Names } from "./collector.ts";
import { decide, type HeldBack, sharesOthers } from "./decide.ts";
import { type HoldReading, holdRequest, readHold } from "./hold.ts";
import { disputeFindings, type LocatedFinding, rejectionFindings } from "./findings.ts";
import { judge, type Outcome } from "./outcome.ts";
import { askWhetherHeld, createConfirmations } from "./registration/confirmation.ts";
import type { Connection } from "./registration/connect.ts";
import { createPartsSender } from "./registration/parts.ts";
import { createRateCap } from "./registration/rate-cap.ts";
import { keepRegistration, type Registration } from "./registration/registration.ts";
import type { AgentState } from "./status.ts";

/** One run of the agent: collect, decide, act, record; and the state kept between runs. */
export type Reconciler = ReturnType<typeof createReconciler>;

export interface RunResult {
  readonly kind: "unsettled" | "unchanged" | "waiting" | "refused" | "registered" | "failed";
  /** The state of the agent after the run. */
  readonly state: AgentState;
  /** The attempt that failed, in this run or before a wait for the next one; null for other results. */
  readonly failure: Outcome | null;
  /** When to run again, unless something changes before, in monotonic milliseconds. */
  readonly dueMs: number;
}

export interface ReconcileRequest {
  /** Requested by a person: register even when nothing changed, and skip waits. */
  readonly forced: boolean;
  /** Requested by a person: ask the service whether it still has the registration. */
  readonly confirm: boolean;
  readonly identity: RunIdentity;
  readonly signal: AbortSignal;
}

/** The identity of the robot, as far as a run depends on it. */
export interface RunIdentity extends Names {
  /** Why the robot's own credential must not be used now; null when it may, and where the API key is used. */
  readonly held: HeldBack | null;
  /** Changes with the credential. */
  readonly version: string;
}

export interface ReconcilerOptions {
  readonly machine: Machine;
  readonly look: Look;
  readonly collector: Collector;
  readonly stateDirectory: string;
  /** Of the file with which somebody holds registrations back. */
  readonly holdPath: string;
  readonly registration: Registration | null;
  /** The connection of the configuration in force. */
  connection(): Connection;
  /** Called when there are findings beside those of a run. */
  onFindings(): void;
  readonly log: Log;
}

export interface ReconcilerChanges {
  readonly sinceRegistration: Changes | null;
  readonly ofRegistration: Changes | null;
}

const NO_CHANGES: Changes = { files: [], members: [] };

/** Short enough to find a restarted service quickly; the cap keeps the load low on one that is down for long. */
export const REGISTRATION_BACKOFF = { firstMs: 1000, capMs: 5 * 60_000 } as const;

/** Of a key or a file with certificates. */
const SMALL_FILE_LIMIT_BYTES = 1024 * 1024;

/** After an outage, registrations are sent within this time. A whole fleet hears at about the same moment that it is over. */
export const RETURN_SPREAD_MS = 30_000;

export function createReconciler(options: ReconcilerOptions) {
  const { machine, look, collector, log } = options;
  const { clock, files } = machine;
  const backoff = createBackoff({ ...REGISTRATION_BACKOFF, random: machine.random });
  const rateCap = createRateCap();
  const confirmations = createConfirmations(machine);
  const parts = createPartsSender({ files, log, onFindings: options.onFindings });
  const kept = keepRegistration(files, options.stateDirectory, options.registration);
  /** Requests sent, and registrations accepted. */
  const counts = { attempts: 0, registrations: 0 };
  let isRegistering = false;
  let failure: Outcome | null = null;
  let hold: HoldReading = { kind: "none" };
  let changes: ReconcilerChanges = { sinceRegistration: null, ofRegistration: null };
  let credentialVersion = "";
  let route = "";
  /** The wanted body is one that the service refused. */
  let isRefusalInForce = false;
  /** Monotonic time of the last `hurry`. */
  let returnedMs = Number.NEGATIVE_INFINITY;

  async function register(body: RobotSetup, machineId: string | null, signal: AbortSignal): Promise<RunResult> {
    isRegistering = true;
    counts.attempts += 1;
    const { client, serviceUrl } = options.connection();
    const hashed: Snapshot["files"] = collector.snapshot?.files ?? [];
    const before = kept.current;
    const sentMs = clock.monotonicMs();
    const result = await client.setupRobot(body, signal, kept.doubtDurably());
    signal.throwIfAborted();
    const nowMs = clock.monotonicMs();
    const attempt = judge(result, {
      body,
      route,
      credentialVersion,
      nowMs,
      wallMs: clock.wallMs(),
      backoff,
      unitRandom: () => machine.random.unit(),
    });
    if (attempt.kind === "failed") {
      if (attempt.failure.state !== "unreachable") {
        // Refusals count for the rate cap, so that flapping files do not flood the service. Unreachable services have the backoff.
        if (result.kind !== "no-credential") rateCap.take(body.configuration_digest, nowMs);
        if (before?.in_doubt === false) kept.setDoubt(false);
      }
      failure = attempt.failure;
      // It was sent into the outage that is over meanwhile.
      if (sentMs <= returnedMs) failure = hurried(failure);
      return { kind: "failed", state: failure.state, failure, dueMs: failure.retryAtMs };
    }
    backoff.reset();
    failure = null;
    rateCap.take(body.configuration_digest, nowMs);
    confirmations.registered();
    changes = { sinceRegistration: NO_CHANGES, ofRegistration: changes.sinceRegistration };
    // The same service made a new robot of this name: it had lost the old one.
    if (before?.service_url === serviceUrl && before.robot.id !== attempt.robot.id)
      log.warn("registration-lost", { detail: `the service had no robot ${body.name} any more` });
    const registration: Registration = {
      service_url: serviceUrl,
      machine: machineId,
      request: body,
      in_doubt: false,
      files: hashed,
      robot: attempt.robot,
      registered_at: isoNow(clock),
    };
    await kept.accept(registration);
    parts.registered(registration, client, signal);
    counts.registrations += 1;
    return inForce("registered");
  }

  function inForce(kind: "unchanged" | "registered"): RunResult {
    return { kind, state: "registered", failure: null, dueMs: confirmations.current.dueMs };
  }

  function hurried(outcome: Outcome): Outcome {
    if (outcome.state !== "unreachable" || outcome.isDelayAsked) return outcome;
    const { firstMs } = REGISTRATION_BACKOFF;
    const soonMs = clock.monotonicMs() + firstMs + (RETURN_SPREAD_MS - firstMs) * machine.random.unit();
    return { ...outcome, retryAtMs: Math.min(outcome.retryAtMs, soonMs) };
  }

  /** Asks the service. When it does not confirm the registration, marks it in doubt, so that it is sent again. */
  async function confirm(registered: Registration, signal: AbortSignal): Promise<RunResult | "doubtful"> {
    const { client } = options.connection();
    const verdict = await askWhetherHeld(client, registered, signal);
    signal.throwIfAborted();
    confirmations.take(verdict);
    if (verdict.kind === "held" && verdict.lacksParts === true && hold.kind !== "held")
      parts.lacking(registered, client, signal);
    if (verdict.kind === "held" || verdict.kind === "unanswered") return inForce("unchanged");
    kept.setDoubt(true);
    // Only a lost registration is logged here: one that was replaced is a finding.
    if (verdict.kind === "lost") log.warn("registration-lost", { detail: verdict.detail });
    // Happens daily with a service that has no such operation.
    else if (verdict.kind === "unknown") log.debug("registration-unconfirmed", { detail: verdict.detail });
    return "doubtful";
  }

  function pathsBeside(): readonly string[] {
    const { credentialPaths, routePaths } = options.connection();
    return [...credentialPaths, ...routePaths, options.holdPath];
  }

  /** Looks at the files beside what is registered: how the service is reached, the key, and a hold. */
  async function lookBeside(
    { routePaths, credentialPaths }: Connection,
    signal: AbortSignal,
  ): Promise<{ readonly route: string; readonly credential: string; readonly hold: HoldReading }> {
    const small = [...routePaths, ...credentialPaths].map((path) => ({ path, limitBytes: SMALL_FILE_LIMIT_BYTES }));
    const looked = await look.at([...small, holdRequest(options.holdPath)], 0, { settle: false, signal });
    if (looked.kind === "unsettled") throw new Error("A look that does not wait did not end");
    return {
      route: versionOf(routePaths, looked),
      credential: versionOf(credentialPaths, looked),
      hold: await readHold(files, options.holdPath, looked.found.get(options.holdPath), clock),
    };
  }

  async function act(
    { wanted, machineId }: Collection,
    { forced, confirm: isAsked, identity, signal }: ReconcileRequest,
  ): Promise<RunResult | "doubtful"> {
    const connection = options.connection();
    const { serviceUrl } = connection;
    await kept.saveAgain();
    const beside = await lookBeside(connection, signal);
    route = `${connection.route} ${beside.route}`;
    credentialVersion = `${beside.credential} ${identity.version}`;
    hold = beside.hold;
    const registration = kept.current;
    const sinceRegistration =
      registration === null
        ? null
        : await changesSince(
            registration,
            collector.snapshot?.files ?? [],
            wanted.kind === "body" ? wanted.body : null,
          );
    changes = { ...changes, sinceRegistration };
    const nowMs = clock.monotonicMs();
    const decision = decide({
      wanted,
      registration,
      lastFailure: failure,
      credentialVersion,
      machine: machineId,
      serviceUrl,
      route,
      held: identity.held,
      isNameApproved: collector.isNameApproved,
      sharesOthers: sharesOthers(registration, collector.snapshot),
      holdUntilMs: hold.kind === "held" ? hold.hold.untilMs : null,
      forced,
      rateCappedUntilMs:
        wanted.kind === "body" ? rateCap.untilMs(wanted.body.configuration_digest) : Number.NEGATIVE_INFINITY,
      nowMs,
    });
    isRefusalInForce = decision.kind === "wait" || decision.kind === "register";
    switch (decision.kind) {
      case "nothing":
        // Keep the last failure, so that files that flap between two contents cannot bypass the backoff.
        if (registration === null || (!isAsked && nowMs < confirmations.current.dueMs)) return inForce("unchanged");
        return confirm(registration, signal);
      case "wait": {
        const waited = decision.reason === "backoff" ? failure : null;
        const state = waited?.state ?? (decision.reason === "hold" ? "held" : "rate-capped");
        return { kind: "waiting", state, failure: waited, dueMs: decision.untilMs };
      }
      case "refuse":
        return { kind: "refused", state: decision.reason, failure: null, dueMs: Number.POSITIVE_INFINITY };
      case "register":
        return register(decision.body, machineId, signal);
    }
  }

  return {
    /** Runs once. Do not call it again before it resolves. @throws `signal.reason` when the signal aborts. */
    async reconcile(request: ReconcileRequest): Promise<RunResult> {
      for (;;) {
        const collected = await collector.collect(true, request.identity, request.signal);
        if (collected.kind === "unsettled") {
          // Load the code for the request during the wait.
          options.connection().prepare();
          return { kind: "unsettled", state: "settling", failure: null, dueMs: clock.monotonicMs() + collected.waitMs };
        }
        const result = await act(collected, request);
        isRegistering = false;
        // The question took time, so collect again before registering.
        if (result !== "doubtful") return result;
      }
    },
    /** The service answers again: a registration that waits for it is sent soon. */
    hurry() {
      returnedMs = clock.monotonicMs();
      if (failure !== null) failure = hurried(failure);
    },
    /** The last agent did not end in order: the service is asked soon. */
    confirmSoon: confirmations.hurry,
    /** Resolves when the service was told, or would not be, what the last registration covers. */
    partsSent: parts.done,
    /** Forgets the registration if its file was moved away; false when the file is there. Do not call it during a run. */
    forgetMoved: kept.forgetMoved,
    /** The files that a run reads. */
    paths() {
      return [...collector.paths(), ...pathsBeside()];
    },
    /** True when no run is needed. Stats only. */
    async isUnchanged() {
      if (kept.problem !== null || !(await look.isUnchanged(pathsBeside()))) return false;
      return collector.isUnchanged();
    },
    counts,
    /** True while a registration is on its way. */
    get isRegistering() {
      return isRegistering;
    },
    get registration() {
      return kept.current;
    },
    get failure() {
      return failure;
    },
    /** Why the last registration could not be written to disk; null when it was. */
    get stateProblem() {
      return kept.problem;
    },
    get findings(): readonly LocatedFinding[] {
      const { configuration, manifest } = collector.documents;
      const validation = isRefusalInForce ? (failure?.validation ?? []) : [];
      const rejections = rejectionFindings(validation, configuration, manifest);
      const disputes = disputeFindings(confirmations.current, configuration);
      const others = hold.kind === "ignored" ? [hold.finding] : [];
      return [...collector.findings, ...rejections, ...disputes, ...parts.findings, ...others];
    },
    /** What differs from the registration, and what the last one since the start changed. */
    get changes() {
      return changes;
    },
    /** Null when nobody holds registrations back. */
    get hold() {
      return hold.kind === "held" ? hold.hold : null;
    },
    /** Whether the service still has the registration, as far as known. */
    get confirmation() {
      return confirmations.current;
    },
  };
}

/** A text that identifies small files, such as a key: a file that was written again is a new one, whatever it holds. */
function versionOf(paths: readonly string[], { found }: Looked): string {
  const words = paths.map((path) => {
    const file = found.get(path);
    if (file?.kind === "read") return `${file.sha256}:${file.stat.inode}:${file.stat.ctimeNs}`;
    return file?.kind === "failed" ? file.code : (file?.kind ?? "");
  });
  return words.join(" ");
}
