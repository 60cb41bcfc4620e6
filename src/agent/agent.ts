/**
 * The daemon: a level-triggered loop that keeps the service's picture of this robot equal to what is on its disk.
 *
 * Whatever happens (a file event, a timer, a signal, a person) only rings the alarm; the loop then looks at the whole truth
 * (collector.ts), decides without side effects (decide.ts), acts and records (reconciler.ts). A lost event costs at most one resync
 * period. Nothing here touches the operating system but through `Machine`, so the same code runs under test/simulation.
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
import { documentFindings } from "./findings.ts";
import type { Connection, ReconcilerOptions, Step } from "./reconciler.ts";
import { createReconciler } from "./reconciler.ts";
import type { Registration } from "./registration/registration.ts";
import { createReporter } from "./reporter.ts";
import type { AgentState, StatusDocument } from "./status.ts";
import type { PendingFiles } from "./watching/pending-files.ts";
import { EMPTY_PLAN, isLocal, planHolds, planWatches } from "./watching/watch-plan.ts";
import { createWatcher } from "./watching/watcher.ts";

export interface Agent {
  /** Finds out what to watch; with that done the agent is ready. No network. */
  prepare(): Promise<void>;
  /** The loop: watches and reconciles until stopped. Rejects only for a bug. */
  run(): Promise<void>;
  /** Stops promptly, in the middle of a request too: the next start repeats it, and setup is an upsert. */
  stop(): void;
  status(): StatusDocument;
  /** Reads everything again. */
  trigger(): void;
  /** Registers now, changed or not, and resolves with what came of it. */
  register(): Promise<StatusDocument>;
  /** Looks at everything again and, where nothing changed, asks the service whether it still holds the registration. */
  confirm(): Promise<StatusDocument>;
  /**
   * Forgets the registration that somebody moved out of the state directory, and registers afresh.
   *
   * @returns null where it is still there, or there again: then it stands.
   */
  rebind(): Promise<StatusDocument | null>;
  /** Looks at everything again, and says whether edits of configuration and manifest are in force, and everything that is wrong. */
  reload(): Promise<Reload>;
}

export interface Reload {
  readonly reloaded: boolean;
  readonly findings: readonly LocatedFinding[];
}

export interface AgentOptions {
  /** Its files are those of `pending`. */
  readonly machine: Machine;
  readonly pending: Pick<PendingFiles, "hanging">;
  readonly log: Log;
  readonly version: string;
  readonly processId: number;
  readonly stateDirectory: string;
  readonly configuration: DocumentInput<AgentConfiguration>;
  /** The configuration to start with, read without errors. */
  readonly initial: AgentConfiguration;
  readonly registration: Registration | null;
  openManifest(path: string, settleMs: () => number): DocumentInput<RobotManifest>;
  connect(configuration: AgentConfiguration): Connection;
  /** A good edit of the configuration is in force. */
  onConfiguration?(configuration: AgentConfiguration): void;
  /** Everything is looked at, events or not: the time to try again what failed. */
  onResync?(): void;
}

/** A disk that has not answered for so long hangs: a person should know. */
const HANGING_MS = 5000;
/** Ready is told by then, whatever the disk does: nothing in a boot may wait for a network drive. */
const PREPARE_LIMIT_MS = 2000;
/** How often the files are read although nothing moved: a stat can be wrong. A tenth more or less, so that a fleet does not do it at once. */
const REREAD_MS = 24 * 60 * 60_000;
/** What is being written when the agent is stopped has so long to get to its end. */
const STOP_LIMIT_MS = 2000;

export function createAgent(options: AgentOptions): Agent {
  const { machine, log } = options;
  const { clock, files } = machine;
  const stopping = new AbortController();
  const alarm = createAlarm(clock);
  const startedAt = new Date(clock.wallMs()).toISOString();
  const counts = { attempts: 0, registrations: 0, runs: 0 };

  let state: AgentState = "starting";
  let connection = options.connect(options.initial);
  let plan = EMPTY_PLAN;
  let plannedPaths = "";
  /** Something moved: links and folders may lead elsewhere now. */
  let planIsStale = true;
  let isRunning = false;
  /** Something moved during a run, perhaps where the run had looked already. */
  let movedMeanwhile = false;
  /** When the last run wants to be repeated, and when everything is looked at anyway; monotonic. */
  let stepDueMs = 0;
  let resyncDueMs = 0;
  /** When the files are next read although nothing moved; monotonic. */
  let rereadDueMs = 0;
  let rereadScope: RereadScope = "inherited";
  let preparing = Promise.resolve();
  /** A person asked: the next run reads every file again. */
  let isAsked = false;
  /** A person asked to register, whatever is registered. */
  let forced = false;
  /** A person asked whether the service still holds the registration. */
  let confirming = false;
  /** A person asked to forget the registration; and what came of it. */
  let rebinding = false;
  let isRebound = false;
  /** Those who asked for a run and wait for what comes of it. */
  const waiting: PromiseWithResolvers<void>[] = [];

  const collector = createCollector({
    ...options,
    onConfiguration(configuration) {
      connection = options.connect(configuration);
      options.onConfiguration?.(configuration);
      log.info("configuration-changed", { path: options.configuration.path });
    },
  });
  const reconciler = createReconciler({
    ...options,
    collector,
    connection: () => connection,
    onRegistering() {
      counts.attempts += 1;
      state = "registering";
    },
    onLost: (verdict) => tellLost(log, verdict),
  });
  const reporter = createReporter({ log, notify: machine.notify });
  const watcher = createWatcher({
    events: machine.events,
    onChange() {
      planIsStale = true;
      if (isRunning) movedMeanwhile = true;
      // While files are being written the settle timer looks again anyway; a thousand events are one look.
      else if (state !== "settling") alarm.ring();
    },
    onGone: () => collector.distrust(),
    onMode: () => reporter.mode(watcher.mode()),
  });

  function trigger(): void {
    planIsStale = true;
    alarm.ring();
  }

  /** A person asked. A run under way comes to its end: who asks all the time must not keep it from that. */
  function look(): void {
    isAsked = true;
    trigger();
  }

  /** Beside the loop, which goes on meanwhile: what an earlier process read right after the start, everything daily. */
  async function reread(): Promise<void> {
    const scope = rereadScope;
    rereadScope = "all";
    // One at a time: each may hang on its disk, and the threads that wait for disks are few.
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
      service_url: connection.service_url,
      watching,
      daemon,
      clock,
      hanging: options.pending.hanging(HANGING_MS),
    });
  }

  function watchedPaths(): readonly string[] {
    return [...collector.paths(), ...connection.credential_paths];
  }

  async function replan(): Promise<void> {
    planIsStale = false;
    const paths = watchedPaths();
    plannedPaths = paths.join("\n");
    plan = await planWatches(files, paths);
  }

  async function prepareNow(): Promise<void> {
    // An edit in progress is left to the loop; what can be read now says which files to watch.
    await collector.documents.manifest.refresh(true);
    await replan();
  }

  /** The net under the events: true when a few synchronous stats show that there is nothing to do. */
  function holds(): boolean {
    return isLocal(files, plan) && planHolds(files, plan) && reconciler.holds();
  }

  async function reconcile(): Promise<void> {
    counts.runs += 1;
    isRunning = true;
    movedMeanwhile = false;
    if (planIsStale) await replan();
    watcher.follow(plan);
    reporter.mode(watcher.mode());
    // Who asks while this runs is answered by the next run.
    const answering = waiting.splice(0);
    if (isAsked) collector.distrust();
    isAsked = false;
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
    tellHanging();
    if (movedMeanwhile && step.kind !== "unsettled") alarm.ring();
    if (watchedPaths().join("\n") !== plannedPaths) trigger();
    if (step.kind === "registered") counts.registrations += 1;
    state = stateAfter(step);
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

  /** A run that waits for a disk that hangs comes to no end by which a person could tell. */
  async function reconcileWatched(): Promise<void> {
    const ended = new AbortController();
    void lookForHanging(ended.signal);
    try {
      await unlessStopped(reconcile());
    } finally {
      ended.abort();
    }
  }

  async function lookForHanging(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(HANGING_MS, signal).catch(() => {});
      if (!signal.aborted) tellHanging();
    }
  }

  function tellHanging(): void {
    reporter.hanging(options.pending.hanging(HANGING_MS), status());
  }

  /** Waits for work, but no longer than a little after the stop: what waits for a disk that hangs is left behind. */
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
    for (;;) {
      const woken = await alarm.wait(Math.min(stepDueMs, resyncDueMs), stopping.signal);
      const nowMs = clock.monotonicMs();
      if (nowMs >= resyncDueMs) {
        watcher.retry();
        options.onResync?.();
      }
      const isQuiet = woken === "due" && nowMs < stepDueMs && holds();
      if (!isQuiet) {
        // A step that is due only looks again at what it waited for; anything else may have moved links and folders.
        if (nowMs < stepDueMs) planIsStale = true;
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
        await loop();
      } catch (error) {
        if (!stopping.signal.aborted) throw error;
      } finally {
        watcher.close();
        for (const { resolve } of waiting) resolve();
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
    async reload() {
      await answered();
      const { configuration, manifest } = collector.documents;
      const edits = [...documentFindings(configuration), ...documentFindings(manifest)];
      return { reloaded: edits.every(({ severity }) => severity !== "error"), findings: collector.findings };
    },
  };
}

/** The state that a run leaves the agent in. */
export function stateAfter(step: Step): AgentState {
  switch (step.kind) {
    case "unsettled":
      return "settling";
    case "unchanged":
    case "registered":
      return "registered";
    case "refused":
      return step.reason;
    case "failed":
      return step.failure.state;
    case "waiting":
      return step.failure?.state ?? "rate-capped";
  }
}

/** @param confirmationDueMs when the service is to be asked whether it still holds what is registered. */
function delayAfter(step: Step, confirmationDueMs: number, nowMs: number): number {
  switch (step.kind) {
    case "unsettled":
      return step.wait_ms;
    case "waiting":
      return step.untilMs - nowMs;
    case "failed":
      return step.failure.retryAtMs - nowMs;
    case "unchanged":
    case "registered":
      return confirmationDueMs - nowMs;
    case "refused":
      return Number.POSITIVE_INFINITY;
  }
}

function tellLost(log: Log, verdict: Parameters<ReconcilerOptions["onLost"]>[0]): void {
  switch (verdict.kind) {
    case "lost":
      log.warn("registration-lost", { detail: verdict.detail });
      return;
    case "untold":
      // Every day where the service has no such operation.
      log.debug("registration-unconfirmed", { detail: verdict.detail });
      return;
    case "replaced":
    // Told as a finding.
  }
}
