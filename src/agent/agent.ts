/**
 * The daemon: a level-triggered loop that keeps the service's picture of this robot equal to what is on its disk.
 *
 * Every trigger (file event, timer, signal, request of a person) only wakes the loop. Each run reads all inputs (collector.ts), decides
 * without side effects (decide.ts), acts and records (reconciler.ts). A lost event costs at most one resync period. All access to the
 * operating system goes through `Machine`, so the same code runs under test/simulation.
 */
import { isDeepStrictEqual } from "node:util";

import { isoNow, within } from "../platform/clock.ts";
import type { PendingFiles } from "../platform/files/pending-files.ts";
import { createAlarm } from "./alarm.ts";
import { createLook } from "../look/look.ts";
import { createVerification } from "../look/verify.ts";
import { createWatch } from "../look/watch.ts";
import type { FileFingerprint } from "../look/snapshot.ts";
import type { Machine } from "../platform/machine.ts";
import { type CollectorOptions, createCollector } from "./collector.ts";
import type { AgentConfiguration } from "./configuration/configuration.ts";
import { createDocuments, type ReadDocument } from "./configuration/documents.ts";
import { describeAgent } from "./describe-agent.ts";
import { heldBack } from "./identity/exchange.ts";
import { createIdentity } from "./identity/identity.ts";
import { documentFindings, type LocatedFinding } from "./findings.ts";
import { createReconciler, type ReconcilerOptions } from "./reconciler.ts";
import { createCleanStop } from "./registration/state-file.ts";
import type { Connection, OwnCredential } from "./registration/connect.ts";
import type { Registration } from "./registration/registration.ts";
import { createReporter } from "./reporter.ts";
import { createRequests, type Requested } from "./requests.ts";
import { STATES } from "./states.ts";
import type { AgentState, StatusDocument } from "./status.ts";
import { isError } from "../documents/findings.ts";

export type Agent = ReturnType<typeof createAgent>;

export interface Reload {
  readonly reloaded: boolean;
  readonly findings: readonly LocatedFinding[];
}

type OfParts = Pick<ReconcilerOptions, "stateDirectory" | "holdPath" | "log"> &
  Pick<CollectorOptions, "denials" | "onProgress">;

export interface AgentOptions extends OfParts {
  /** It has the tracked files of `pending`. */
  readonly machine: Machine;
  readonly pending: Pick<PendingFiles, "hanging">;
  /** A reading of the configuration, and its value. */
  readonly configuration: ReadDocument<AgentConfiguration>;
  readonly initial: AgentConfiguration;
  /** The registration of an earlier process; null to read every file. */
  readonly registration: Registration | null;
  /** What a process read a short time ago: then no file is read again without a change of its stat. */
  readonly kept?: readonly FileFingerprint[] | undefined;
  readonly version: string;
  /** null for the agent of a command, which is no daemon. */
  readonly processId: number | null;
  connect(configuration: AgentConfiguration, ownCredential: OwnCredential): Connection;
  /** Called when a valid edit of the configuration takes effect. */
  onConfiguration?(configuration: AgentConfiguration): void;
  /** Called once in each resync period, to retry what failed. */
  onResync?(): void;
}

/** A disk that has not answered for this long is reported as hanging. */
const HANGING_MS = 5000;
/** READY=1 is sent after this time even when the disk hangs: a boot must not wait for a network drive. */
const PREPARE_LIMIT_MS = 2000;
/** Work under way at a stop gets this long to finish. */
const STOP_LIMIT_MS = 2000;

export function createAgent(options: AgentOptions) {
  const { machine, log } = options;
  const { clock, files } = machine;
  const stopping = new AbortController();
  const { signal } = stopping;
  const alarm = createAlarm(clock);
  const cleanStop = createCleanStop(files, options.stateDirectory);
  const requests = createRequests();
  const startedAt = isoNow(clock);
  let runs = 0;
  let state: AgentState = "starting";
  /** Why the robot cannot register, by the last run that came to a result; null if it can. */
  let obstacle: string | null = null;
  let isRunning = false;
  /** Files changed during a run, perhaps after the run had read them. */
  let changedDuringRun = false;
  /** Monotonic time of the next run, as the last one asked for, and of the next resync, which every run puts off. */
  let runDueMs = 0;
  let resyncDueMs = 0;
  /** When all files are looked at again, as far as events tell of their changes. Devices are looked at more often. */
  let allDueMs = 0;
  /** When what failed was last tried again. */
  let retriedMs = Number.NEGATIVE_INFINITY;
  let preparing = Promise.resolve();
  /** Whether the last request to forget the registration did so. */
  let isRebound = false;

  const look = createLook(machine);
  look.remember(options.registration?.files ?? []);
  look.remember(options.kept ?? [], "settled");
  const documents = createDocuments(machine, look, options.configuration, options.initial);
  const { registration: known, denials, onProgress } = options;
  const collector = createCollector({ machine, look, documents, name: known?.request.name, denials, onProgress });
  const identity = createIdentity({ ...options, wake: alarm.ring });
  /** What the last run knew of the identity. */
  let own = identity.view();
  let connected = options.initial;
  let latestConnection = options.connect(connected, identity.credential);
  identity.use(connected, latestConnection);

  /** The connection of the configuration in force. */
  function connection(): Connection {
    const current = documents.inForce;
    // Only a comment changed, or nothing.
    if (isDeepStrictEqual(current, connected)) return latestConnection;
    connected = current;
    latestConnection = options.connect(current, identity.credential);
    identity.use(current, latestConnection);
    options.onConfiguration?.(current);
    log.info("configuration-changed", { path: documents.configuration.path });
    return latestConnection;
  }

  const reconciler = createReconciler({ ...options, look, collector, connection, onFindings: alarm.ring });
  const reporter = createReporter({ log, notify: machine.notify, registeredAt: known?.registered_at ?? null });
  const watch = createWatch({
    files,
    events: machine.events,
    onChange() {
      if (isRunning) changedDuringRun = true;
      // While files settle, the timer starts the next run anyway, so a thousand events cause one run.
      else if (state !== "settling") alarm.ring();
    },
    onGone: collector.invalidate,
  });
  const verifyIfDue = createVerification({
    machine,
    look,
    signal,
    onChanged(paths) {
      log.warn("changed-unseen", { paths });
      alarm.ring();
    },
  });

  /** For a person. A run under way is not interrupted, so that frequent requests cannot block it. */
  async function ask(what: Partial<Requested> = {}): Promise<void> {
    const answered = requests.ask(what);
    alarm.ring();
    await answered;
  }

  /** For a person who may just have corrected what the robot's identity failed at: the run has read that, so the identity is tried after it. */
  async function askWithIdentity(what: Partial<Requested>): Promise<StatusDocument> {
    await ask(what);
    const now = identity.view();
    const isHeld = state === "unauthorized" || (await heldBack(now, connection())) !== null;
    if (now.version !== own.version || (isHeld && (await identity.retry()))) await ask(what);
    return status();
  }

  function status(): StatusDocument {
    const { processId, version, stateDirectory } = options;
    const daemon =
      processId === null
        ? null
        : {
            version,
            process_id: processId,
            started_at: startedAt,
            config_path: documents.configuration.path,
            state_directory: stateDirectory,
            ...reconciler.counts,
            runs,
          };
    const watching = daemon === null ? null : { ...watch.mode, directories: watch.folderCount };
    // The last failure stands until it is answered: an attempt may take as long as the pause before it.
    const isRegistering = reconciler.isRegistering && !STATES[state].showsFailure;
    return describeAgent({
      state: isRegistering ? "registering" : state,
      collector,
      reconciler,
      serviceUrl: latestConnection.serviceUrl,
      watching,
      daemon,
      clock,
      hanging: options.pending.hanging(HANGING_MS),
      identity: identity.view().status,
    });
  }

  /** Hands the identity what the agent knows by now. @param isSettled the files were read, or cannot be. */
  function report(isSettled: boolean): void {
    const { registration } = reconciler;
    const isHeld =
      registration !== null && !registration.in_doubt && registration.service_url === latestConnection.serviceUrl;
    const isHanging = options.pending.hanging(HANGING_MS) !== null;
    identity.report({
      robotTypeId: collector.manifest?.robot_type_id ?? null,
      digest: collector.snapshot?.digest ?? null,
      isSettled,
      readiness: {
        problem: isHanging || !isHeld ? status().summary : obstacle,
        registeredDigest: registration?.request.configuration_digest ?? null,
      },
    });
  }

  /** Acts on what changed in the identity since the last run. */
  function followIdentity(): void {
    const before = own;
    own = identity.view();
    if (own.returns > before.returns) reconciler.hurry();
    if (own.enrolments > before.enrolments) void requests.ask({ confirm: true });
  }

  async function prepareNow(): Promise<void> {
    // Without waiting for writers: the manifest as it is now tells which files to watch.
    // A registered robot has the name that it registered with.
    await Promise.all([documents.read(false), collector.robotName === "" ? collector.prepareName(own) : null]);
  }

  async function reconcile(): Promise<void> {
    runs += 1;
    isRunning = true;
    changedDuringRun = false;
    const followed = reconciler.paths();
    await watch.follow(followed);
    const request = requests.take();
    if (request.rereadAll && options.kept === undefined) collector.invalidate();
    if (request.rebind) isRebound = await reconciler.forgetMoved();
    const forced = request.forced || (request.rebind && isRebound);
    const held = await heldBack(own, connection());
    const result = await reconciler.reconcile({ forced, confirm: request.confirm, identity: { ...own, held }, signal });
    isRunning = false;
    const paths = reconciler.paths();
    look.retain(paths);
    const isWatched = isDeepStrictEqual(paths, followed);
    const isSettled = result.kind !== "unsettled";
    if (!isWatched || (changedDuringRun && isSettled)) alarm.ring();
    state = result.state;
    runDueMs = result.dueMs;
    if (isSettled) obstacle = STATES[state].problem === null ? null : status().summary;
    const refusal = result.kind === "failed" ? (result.failure?.credentialRefusal ?? null) : null;
    if (refusal !== null) identity.credentialRefused(refusal);
    report(isSettled);
    reporter.mode(watch.mode);
    reporter.status(status());
    if (isSettled) request.answer();
    else request.postpone({ forced });
  }

  /** Waits for work that may hang with its disk: reports a hang and its end. A stop waits for it only a short time. @throws `signal.reason` */
  async function watchOver(work: Promise<void>): Promise<void> {
    const done = work.then(() => true);
    try {
      while ((await within(done, HANGING_MS, clock, signal)) === null) reportHanging();
    } catch (error) {
      if (!signal.aborted) throw error;
      if ((await within(done, STOP_LIMIT_MS, clock)) === null) throw signal.reason;
    }
    reportHanging();
  }

  function reportHanging(): void {
    reporter.hanging(options.pending.hanging(HANGING_MS), status());
    report(false);
  }

  async function begin(): Promise<void> {
    await preparing;
    if (!(await cleanStop.take())) reconciler.confirmSoon();
  }

  async function loop(): Promise<void> {
    await watchOver(begin());
    report(false);
    await watchOver(identity.begin());
    for (;;) {
      // What was read just after a change is confirmed by another look.
      const confirmDueMs = state === "settling" ? Infinity : look.confirmDueMs();
      const woken = await alarm.wait(Math.min(runDueMs, resyncDueMs, confirmDueMs), signal);
      followIdentity();
      const nowMs = clock.monotonicMs();
      const isResync = woken === "due" && nowMs < runDueMs;
      // Whatever woke the loop: events may keep coming, and would put the retries off for ever.
      if (nowMs >= retriedMs + 1000 * documents.inForce.watch.resync_s) {
        retriedMs = nowMs;
        options.onResync?.();
        await watchOver(identity.begin());
        // Each run tries again to watch what has no working watch. Without one, nothing would.
        if (watch.mode.mode === "polling") await watchOver(watch.follow(reconciler.paths()));
      }
      const isOfDevices = watch.mode.mode === "events" && nowMs < Math.min(allDueMs, confirmDueMs);
      await watchOver(isResync ? reconcileIfChanged(isOfDevices) : reconcile());
      if (!isResync || !isOfDevices) allDueMs = clock.monotonicMs() + 1000 * documents.inForce.watch.resync_s;
      if (options.kept === undefined) verifyIfDue();
      resyncDueMs = clock.monotonicMs() + resyncPeriod();
    }
  }

  async function reconcileIfChanged(isOfDevices: boolean): Promise<void> {
    const isUnchanged = isOfDevices ? collector.areDevicesUnchanged() : reconciler.isUnchanged();
    if (!(await isUnchanged)) await reconcile();
  }

  function resyncPeriod(): number {
    const { poll_s: pollS, resync_s: resyncS } = documents.inForce.watch;
    return 1000 * (watch.mode.mode === "polling" || watch.hasDevices ? pollS : resyncS);
  }

  return {
    /** Reads configuration and manifest, after which the agent is ready. No network. */
    async prepare() {
      preparing = prepareNow();
      await within(preparing, PREPARE_LIMIT_MS, clock, signal);
    },
    /** Watches and reconciles until stopped. Rejects only for a bug. */
    async run() {
      const ended = new AbortController();
      const identified = identity.run(AbortSignal.any([signal, ended.signal]));
      try {
        await Promise.all([loop(), identified]);
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        watch.close();
        ended.abort();
        await within(identified, STOP_LIMIT_MS, clock).catch(() => {});
        if (signal.aborted && reconciler.stateProblem === null)
          await within(cleanStop.leave(), STOP_LIMIT_MS, clock).catch(() => {});
        await latestConnection.close();
      }
    },
    /** Stops promptly, even during a request: the next start repeats it, which is safe because setup is an upsert. */
    stop: () => stopping.abort(),
    status,
    /** Resolves when no parts of a registration are on their way to the service. */
    partsSent: reconciler.partsSent,
    /** Reads everything again. */
    trigger() {
      requests.askReread();
      alarm.ring();
    },
    /** Registers now, changed or not, and resolves with the new status. */
    register: () => askWithIdentity({ forced: true }),
    /** Reads everything again and, if nothing changed, asks the service whether it still has the registration. */
    confirm: () => askWithIdentity({ confirm: true }),
    /**
     * Forgets the registration whose file was moved out of the state directory, and registers again.
     *
     * @returns null when the file is still there; the registration is then kept.
     */
    async rebind(): Promise<StatusDocument | null> {
      await ask({ rebind: true });
      return isRebound ? status() : null;
    },
    /** Begins an enrolment, unless the robot has a credential that is good or waits for approval; resolves with the new status. */
    async enroll(): Promise<StatusDocument> {
      await identity.enroll();
      return status();
    },
    /** Reads everything again; tells whether the configuration and manifest on disk are in force, with all findings. */
    async reload(): Promise<Reload> {
      await ask();
      const { configuration, manifest } = documents;
      const edits = [...documentFindings(configuration), ...documentFindings(manifest)];
      return { reloaded: !edits.some(isError), findings: collector.findings };
    },
  };
}
