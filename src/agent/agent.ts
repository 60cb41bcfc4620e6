/**
 * The daemon: a level-triggered loop that keeps the service's picture of this robot equal to what is on its disk.
 *
 * Every trigger (file event, timer, signal, request of a person) only wakes the loop. Each run reads all inputs (collector.ts), decides
 * without side effects (decide.ts), acts and records (reconciler.ts). A lost event costs at most one resync period. All access to the
 * operating system goes through `Machine`, so the same code runs under test/simulation.
 */
import type { RereadScope } from "../fingerprint/fingerprint.ts";
import type { RobotManifest } from "../manifest/manifest.ts";
import type { Log } from "../platform/log/log.ts";
import type { Machine } from "../platform/machine.ts";
import { createAlarm } from "./alarm.ts";
import { createCollector } from "./collector.ts";
import type { AgentConfiguration } from "./configuration/configuration.ts";
import type { DocumentInput } from "./configuration/document-input.ts";
import { describeAgent } from "./describe-agent.ts";
import type { LocatedFinding } from "./findings.ts";
import { enrolmentRequest } from "./identity/enrolment-request.ts";
import { createIdentityPart } from "./identity/part.ts";
import { documentFindings } from "./findings.ts";
import type { Connection, Reconciler, ReconcilerOptions } from "./reconciler.ts";
import { createReconciler } from "./reconciler.ts";
import type { OwnCredential } from "./registration/connect.ts";
import type { Registration } from "./registration/record.ts";
import { createReporter } from "./reporter.ts";
import { delayAfter, stateAfter } from "./step.ts";
import type { AgentState, StatusDocument } from "./status.ts";
import type { PendingFiles } from "./watching/pending-files.ts";
import { EMPTY_PLAN, isLocal, isPlanCurrent, planWatches } from "./watching/watch-plan.ts";
import { createWatcher } from "./watching/watcher.ts";

export interface Agent {
  /** Plans what to watch, after which the agent is ready. No network. */
  prepare(): Promise<void>;
  /** Watches and reconciles until stopped. Rejects only for a bug. */
  run(): Promise<void>;
  /** Stops promptly, even during a request: the next start repeats it, which is safe because setup is an upsert. */
  stop(): void;
  status(): StatusDocument;
  /** Reads everything again. */
  trigger(): void;
  /** Registers now, changed or not, and resolves with the new status. */
  register(): Promise<StatusDocument>;
  /** Reads everything again and, if nothing changed, asks the service whether it still has the registration. */
  confirm(): Promise<StatusDocument>;
  /**
   * Forgets the registration whose file was moved out of the state directory, and registers again.
   *
   * @returns null when the file is still there; the registration is then kept.
   */
  rebind(): Promise<StatusDocument | null>;
  /** Begins an enrolment, unless the robot has a credential that is good or waits for approval; resolves with the new status. */
  enrol(): Promise<StatusDocument>;
  /** Reads everything again; tells whether the configuration and manifest on disk are in force, with all findings. */
  reload(): Promise<Reload>;
}

export interface Reload {
  readonly reloaded: boolean;
  readonly findings: readonly LocatedFinding[];
}

export interface AgentOptions {
  /** With the tracked files of `pending`. */
  readonly machine: Machine;
  readonly pending: Pick<PendingFiles, "hanging">;
  readonly log: Log;
  readonly version: string;
  readonly processId: number;
  readonly stateDirectory: string;
  readonly configuration: DocumentInput<AgentConfiguration>;
  /** The valid configuration to start with. */
  readonly initial: AgentConfiguration;
  readonly registration: Registration | null;
  openManifest(path: string, settleMs: () => number): DocumentInput<RobotManifest>;
  connect(configuration: AgentConfiguration, ownCredential: OwnCredential): Connection;
  /** Called when a valid edit of the configuration takes effect. */
  onConfiguration?(configuration: AgentConfiguration): void;
  /** Called at each resync, to retry what failed. */
  onResync?(): void;
}

/** A disk that has not answered for this long is reported as hanging. */
const HANGING_MS = 5000;
/** READY=1 is sent after this time even when the disk hangs: a boot must not wait for a network drive. */
const PREPARE_LIMIT_MS = 2000;
/** How often all files are read although their stats did not change; ± 10 %, so that a fleet does not do it at the same time. */
const REREAD_MS = 24 * 60 * 60_000;
/** Work under way at a stop gets this long to finish. */
const STOP_LIMIT_MS = 2000;

export function createAgent(options: AgentOptions): Agent {
  const { machine, log } = options;
  const { clock, files } = machine;
  const stopping = new AbortController();
  const alarm = createAlarm(clock);
  const startedAt = new Date(clock.wallMs()).toISOString();
  const counts = { attempts: 0, registrations: 0, runs: 0 };

  let state: AgentState = "starting";
  const ownCredential: OwnCredential = (serviceUrl) => identity.credential(serviceUrl);
  let connection = options.connect(options.initial, ownCredential);
  let plan = EMPTY_PLAN;
  let plannedPaths = "";
  /** Files changed: links and folders may lead elsewhere now. */
  let isPlanStale = true;
  let isRunning = false;
  /** Files changed during a run, perhaps after the run had read them. */
  let changedDuringRun = false;
  /** Monotonic time at which the last run asked to be repeated, and of the next resync. */
  let stepDueMs = 0;
  let resyncDueMs = 0;
  /** Monotonic time of the next reread of all files. */
  let rereadDueMs = 0;
  let rereadScope: RereadScope = "inherited";
  let preparing = Promise.resolve();
  /** A person asked for a run: it reads every file again. */
  let rereadAll = false;
  /** A person asked to register, changed or not. */
  let forced = false;
  /** A person asked whether the service still has the registration. */
  let confirming = false;
  /** A person asked to forget the registration; and whether that was done. */
  let rebinding = false;
  let isRebound = false;
  /** Callers that wait for the next run. */
  const waiting: PromiseWithResolvers<void>[] = [];

  const collector = createCollector({
    ...options,
    approved: () => identity.approved,
    onConfiguration(configuration) {
      connection = options.connect(configuration, ownCredential);
      identity.reconfigured();
      options.onConfiguration?.(configuration);
      log.info("configuration-changed", { path: options.configuration.path });
    },
  });
  const identity = createIdentityPart({
    ...options,
    configuration: () => collector.configuration,
    connection: () => connection,
    describeRobot: () => enrolmentRequest(collector, machine),
    readiness() {
      const { registration } = reconciler;
      const isHeld =
        registration !== null && !registration.in_doubt && registration.service_url === connection.serviceUrl;
      return {
        problem: isHeld ? null : status().summary,
        registeredDigest: registration?.request.configuration_digest ?? null,
      };
    },
    onChange: trigger,
    onReturn() {
      reconciler.hurry();
      alarm.ring();
    },
  });
  const reconciler: Reconciler = createReconciler({
    ...options,
    collector,
    identity,
    connection: () => connection,
    onRegistering() {
      counts.attempts += 1;
      state = "registering";
    },
    onLost: (verdict) => logLostRegistration(log, verdict),
  });
  const reporter = createReporter({ log, notify: machine.notify });
  const watcher = createWatcher({
    events: machine.events,
    onChange() {
      isPlanStale = true;
      if (isRunning) changedDuringRun = true;
      // While files settle, the timer starts the next run anyway, so a thousand events cause one run.
      else if (state !== "settling") alarm.ring();
    },
    onGone: () => collector.invalidate(),
    onMode: () => reporter.mode(watcher.mode()),
  });

  function trigger(): void {
    isPlanStale = true;
    alarm.ring();
  }

  /** For requests of a person. A run under way is not interrupted, so that frequent requests cannot block it. */
  function look(): void {
    rereadAll = true;
    trigger();
  }

  /** Runs beside the loop: rereads inherited files right after the start, and all files daily. */
  async function reread(): Promise<void> {
    const scope = rereadScope;
    rereadScope = "all";
    // One at a time: each may hang on its disk, and libuv has few threads.
    rereadDueMs = Number.POSITIVE_INFINITY;
    try {
      const paths = await collector.reread(scope, stopping.signal);
      rereadDueMs = clock.monotonicMs() + REREAD_MS * (0.9 + 0.2 * machine.random.unit());
      if (paths.length === 0) return;
      log.warn("changed-unseen", { paths });
      trigger();
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    }
  }

  function status(): StatusDocument {
    const watching = { ...watcher.mode(), directories: plan.directories.size };
    const daemon = {
      version: options.version,
      process_id: options.processId,
      started_at: startedAt,
      config_path: options.configuration.path,
      state_directory: options.stateDirectory,
      ...counts,
    };
    return describeAgent({
      state,
      collector,
      reconciler,
      serviceUrl: connection.serviceUrl,
      watching,
      daemon,
      clock,
      hanging: options.pending.hanging(HANGING_MS),
      identity: identity.status(),
    });
  }

  function watchedPaths(): readonly string[] {
    return [...collector.paths(), ...connection.credentialPaths];
  }

  async function replan(): Promise<void> {
    isPlanStale = false;
    const paths = watchedPaths();
    plannedPaths = paths.join("\n");
    plan = await planWatches(files, paths);
  }

  async function prepareNow(): Promise<void> {
    // Without waiting for writers: the manifest as it is now tells which files to watch.
    await collector.documents.manifest.refresh(true);
    await replan();
  }

  /** The resync check: true when a few synchronous stats show that there is nothing to do. */
  function isUnchanged(): boolean {
    return isLocal(files, plan) && isPlanCurrent(files, plan) && reconciler.isUnchanged();
  }

  async function reconcile(): Promise<void> {
    counts.runs += 1;
    isRunning = true;
    changedDuringRun = false;
    if (isPlanStale) await replan();
    watcher.follow(plan);
    reporter.mode(watcher.mode());
    // Requests that arrive during this run are answered by the next one.
    const answering = waiting.splice(0);
    if (rereadAll) collector.invalidate();
    rereadAll = false;
    if (rebinding) {
      rebinding = false;
      isRebound = await reconciler.forgetMoved();
      forced ||= isRebound;
    }
    const isForced = forced;
    forced = false;
    const confirm = confirming;
    confirming = false;
    const step = await reconciler.reconcile({ forced: isForced, confirm, signal: stopping.signal });
    isRunning = false;
    reportHanging();
    if (changedDuringRun && step.kind !== "unsettled") alarm.ring();
    if (watchedPaths().join("\n") !== plannedPaths) trigger();
    if (step.kind === "registered") counts.registrations += 1;
    state = stateAfter(step);
    if (step.kind === "failed" && step.failure.reason === "http-401") identity.doubt();
    if (step.kind === "failed" && step.failure.reason === "http-403") identity.doubtName();
    identity.readinessChanged();
    stepDueMs = clock.monotonicMs() + delayAfter(step, reconciler.confirmation.dueMs, clock.monotonicMs());
    reporter.status(status());
    if (step.kind === "unsettled") {
      waiting.unshift(...answering);
      forced ||= isForced;
      confirming ||= confirm;
    } else {
      for (const { resolve } of answering) resolve();
    }
  }

  /** Reports a hanging disk during the run, which does not end until the disk answers. */
  async function reconcileWatched(): Promise<void> {
    const ended = new AbortController();
    void reportHangingUntil(ended.signal);
    try {
      await unlessStopped(reconcile());
    } finally {
      ended.abort();
    }
  }

  async function reportHangingUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(HANGING_MS, signal).catch(() => {});
      if (!signal.aborted) reportHanging();
    }
  }

  function reportHanging(): void {
    reporter.hanging(options.pending.hanging(HANGING_MS), status());
  }

  /** Waits for the work, but at most `STOP_LIMIT_MS` after a stop: a hanging disk must not delay the exit. */
  async function unlessStopped(work: Promise<void>): Promise<void> {
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const over = new AbortController();
    const giveUp = () => {
      void clock.sleep(STOP_LIMIT_MS, over.signal).then(
        () => reject(stopping.signal.reason),
        () => {},
      );
    };
    if (stopping.signal.aborted) giveUp();
    else stopping.signal.addEventListener("abort", giveUp);
    try {
      await Promise.race([work, stopped]);
    } finally {
      over.abort();
      stopping.signal.removeEventListener("abort", giveUp);
    }
  }

  async function loop(): Promise<void> {
    await unlessStopped(preparing);
    await unlessStopped(identity.begin());
    for (;;) {
      const woken = await alarm.wait(Math.min(stepDueMs, resyncDueMs), stopping.signal);
      const nowMs = clock.monotonicMs();
      if (nowMs >= resyncDueMs) {
        watcher.retry();
        options.onResync?.();
        await unlessStopped(identity.begin());
      }
      const isQuiet = woken === "due" && nowMs < stepDueMs && isUnchanged();
      if (!isQuiet) {
        // A due step only repeats the last run; after any other trigger links and folders may have changed.
        if (nowMs < stepDueMs) isPlanStale = true;
        if (woken === "due" && nowMs < stepDueMs) watcher.renew();
        await reconcileWatched();
      }
      if (nowMs >= rereadDueMs) void reread();
      resyncDueMs = clock.monotonicMs() + resyncPeriod();
    }
  }

  function resyncPeriod(): number {
    const { poll_s: pollS, resync_s: resyncS } = collector.configuration.watch;
    return 1000 * (watcher.mode().mode === "polling" ? pollS : resyncS);
  }

  function answered(): Promise<void> {
    const answer = Promise.withResolvers<void>();
    waiting.push(answer);
    look();
    return answer.promise;
  }

  return {
    async prepare() {
      preparing = prepareNow();
      const prepared = new AbortController();
      const limit = clock.sleep(PREPARE_LIMIT_MS, prepared.signal).catch(() => {});
      await Promise.race([preparing, limit]);
      prepared.abort();
    },
    async run() {
      try {
        await Promise.race([loop(), identity.failure]);
      } catch (error) {
        if (!stopping.signal.aborted) throw error;
      } finally {
        watcher.close();
        for (const { resolve } of waiting) resolve();
        await unlessStopped(identity.stop()).catch(() => {});
        await connection.close();
      }
    },
    stop: () => stopping.abort(),
    status,
    trigger: look,
    async register() {
      forced = true;
      await answered();
      return status();
    },
    async confirm() {
      confirming = true;
      await answered();
      return status();
    },
    async rebind() {
      rebinding = true;
      await answered();
      return isRebound ? status() : null;
    },
    async enrol() {
      await identity.enrol();
      return status();
    },
    async reload() {
      await answered();
      const { configuration, manifest } = collector.documents;
      const edits = [...documentFindings(configuration), ...documentFindings(manifest)];
      return { reloaded: edits.every(({ severity }) => severity !== "error"), findings: collector.findings };
    },
  };
}

function logLostRegistration(log: Log, verdict: Parameters<ReconcilerOptions["onLost"]>[0]): void {
  switch (verdict.kind) {
    case "lost":
      log.warn("registration-lost", { detail: verdict.detail });
      return;
    case "unknown":
      // Happens daily with a service that has no such operation.
      log.debug("registration-unconfirmed", { detail: verdict.detail });
      return;
    case "replaced":
    // Reported as a finding.
  }
}
