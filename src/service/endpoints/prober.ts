import { shown } from "../../documents/texts.ts";
import { isoTime } from "../../platform/clock.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import type { OperationContext } from "../kernel/operation.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";
import { createOutgoing } from "../kernel/outgoing.ts";
import { type Expectation, expectationOf, loadDemands } from "./expectation.ts";
import { believe } from "./health.ts";
import { loadPreparations } from "./preparations.ts";
import {
  bringProbesForward,
  checkpointsDueLaterThan,
  type Claim,
  type ClaimedEndpoint,
  claimEndpoint,
  isAnyEndpointDue,
  recordProbe,
  releaseEndpoint,
  type ServedModel,
} from "./queries.ts";

/** Maximum number of concurrent probes of this process. */
export const PROBES_MAXIMUM = 16;
/** Maximum random change of intervals, as a fraction, so that endpoints are not all probed at the same time. */
const JITTER = 0.1;
/** A claim lasts this much longer than a probe may take, so that its result can be written. */
const CLAIM_SLACK_MS = 5_000;

const NOT_EXPECTED: Expectation = { fromMs: Number.POSITIVE_INFINITY, isAwaited: false };

/** Probes the endpoints periodically. */
export interface Prober extends AsyncDisposable {
  readonly tasks: readonly Task[];
}

type ProberContext = Pick<OperationContext, "store" | "machine" | "nudge">;

/**
 * Dispose it after the loop that runs the tasks: it waits for probes in progress, which end with the loop and release their claims, so that
 * the next process need not wait for these to expire.
 */
export function createProber(context: ProberContext, times: ReadinessTimes, health: HealthProbe): Prober {
  const { store, machine, nudge } = context;
  const { clock, random, log } = machine;
  const underway = new Set<Promise<void>>();

  function newClaim(): Claim {
    const nowMs = clock.wallMs();
    return {
      now: isoTime(nowMs),
      probedBefore: isoTime(nowMs - times.repeatMs * (1 - JITTER)),
      horizon: isoTime(nowMs + times.idleMs * (1 + 2 * JITTER)),
      probeId: Buffer.from(random.bytes(12)).toString("hex"),
      expiresAt: isoTime(nowMs + times.probeTimeoutMs + CLAIM_SLACK_MS),
    };
  }

  /** Starts a probe for each endpoint that is due, up to the maximum. Does not wait for them, because one may hang. */
  async function startDueProbes(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (underway.size >= PROBES_MAXIMUM) await Promise.race(underway);
      const claim = newClaim();
      if (!(await isAnyEndpointDue(store.reader, claim))) return;
      const endpoint = await store.write((transaction) => claimEndpoint(transaction, claim));
      if (endpoint === undefined) return;
      const probe = probeClaimed(endpoint, claim.probeId, signal).finally(() => underway.delete(probe));
      underway.add(probe);
    }
  }

  /** Never rejects. If the result cannot be written it is lost, and the claim expires. */
  async function probeClaimed(endpoint: ClaimedEndpoint, probeId: string, signal: AbortSignal): Promise<void> {
    const probed = await health.probe(endpoint.health_url, signal, endpoint);
    try {
      if (probed.state !== "abandoned") return await record(endpoint, probed);
      await store.write((transaction) => releaseEndpoint(transaction, endpoint, probeId));
    } catch (error) {
      log.warn("probe_outcome_lost", {
        checkpoint_id: endpoint.checkpoint_id,
        region: endpoint.region,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }

  async function record(endpoint: ClaimedEndpoint, probed: Exclude<Probed, { state: "abandoned" }>): Promise<void> {
    const { checkpoint_id: checkpointId, region } = endpoint;
    const nowMs = clock.wallMs();
    const belief = believe(endpoint, probed.state === "succeeded");
    const isChanged = belief.health !== endpoint.health;
    const expectation = (await loadExpectations([checkpointId], nowMs)).get(checkpointId);
    const { fromMs, isAwaited } = expectation ?? NOT_EXPECTED;
    const isDoubted = belief.contrary_probes > 0;
    const untilMs = Math.min(times.idleMs, Math.max(times.expectedMs, fromMs - nowMs));
    const waitMs = (isDoubted ? times.repeatMs : untilMs) * jitter();
    const probedAt = isoTime(nowMs);
    const lastError = probed.state === "failed" ? probed.reason : null;
    const outcome = { ...belief, isChanged, last_error: lastError, probedAt, next_probe_at: isoTime(nowMs + waitMs) };
    if (!(await store.write((transaction) => recordProbe(transaction, endpoint, outcome)))) return;
    if (isChanged) {
      const tell = belief.health === "failing" ? log.warn : log.info;
      tell("endpoint_health_changed", {
        checkpoint_id: checkpointId,
        region,
        health: belief.health,
        last_error: lastError,
      });
    }
    if (isChanged || isAwaited) nudge();
  }

  /** Schedules earlier probes for endpoints whose capacity is expected since their next probe was scheduled. */
  async function bringExpectedForward(signal: AbortSignal): Promise<void> {
    const nowMs = clock.wallMs();
    const laterThan = isoTime(nowMs + times.expectedMs * (1 + JITTER));
    const expectations = await loadExpectations(await checkpointsDueLaterThan(store.reader, laterThan), nowMs);
    for (const [checkpointId, { fromMs }] of expectations) {
      if (signal.aborted) return;
      if (fromMs > nowMs) continue;
      await store.write((transaction) => bringProbesForward(transaction, checkpointId, isoTime(nowMs), laterThan));
    }
  }

  /** By checkpoint, without those that nothing needs. */
  async function loadExpectations(
    checkpointIds: readonly string[],
    nowMs: number,
  ): Promise<ReadonlyMap<string, Expectation>> {
    const demands = await loadDemands(store.reader, checkpointIds, nowMs);
    const slugs = new Set(demands.map(({ modelSlug }) => modelSlug));
    const preparations = await loadPreparations(store.reader, [...slugs]);
    const byCheckpoint = Map.groupBy(demands, ({ checkpointId }) => checkpointId);
    return new Map(
      [...byCheckpoint].map(([checkpointId, found]) => [checkpointId, expectationOf(found, preparations)]),
    );
  }

  function jitter(): number {
    return 1 + (random.unit() * 2 - 1) * JITTER;
  }

  return {
    tasks: [
      { name: "expect-endpoints", intervalMs: times.expectedMs, run: bringExpectedForward },
      { name: "probe-endpoints", intervalMs: times.tickMs, run: startDueProbes },
    ],
    async [Symbol.asyncDispose]() {
      await Promise.all(underway);
      await health[Symbol.asyncDispose]();
    },
  };
}

/** `failed` has a reason in a few words. `abandoned`: the service stopped the probe, so nothing is known. */
export type Probed =
  | { readonly state: "succeeded" }
  | { readonly state: "failed"; readonly reason: string }
  | { readonly state: "abandoned" };

/** Probes the health URLs of endpoints. */
export interface HealthProbe extends AsyncDisposable {
  /**
   * Sends a GET; any 2xx in time is a success, unless its document should name the model and does not name the right one. Nothing else is
   * sent: LeRobot's policy server resets itself at a new client, and the greeting of openpi's names no model. Never throws.
   */
  probe(healthUrl: string, signal: AbortSignal, served?: ServedModel): Promise<Probed>;
}

const ANSWER_BYTES = 64 * 1024;

/** Each probe opens a new connection: an endpoint is healthy if it accepts new clients. A redirect is no success. */
export function createHealthProbe(timeoutMs: number): HealthProbe {
  const outgoing = createOutgoing({ timeoutMs, answerBytes: ANSWER_BYTES });
  return {
    async probe(healthUrl, signal, served = NO_MODEL) {
      const isAnswerRead = served.model_member !== null;
      const sent = await outgoing.send(healthUrl, { headers: { accept: "*/*" }, isAnswerRead }, signal);
      if (sent.state !== "answered") return sent;
      const isSuccess = sent.status >= 200 && sent.status < 300;
      const reason = isSuccess ? wrongModel(sent.text, served) : `answered ${sent.status}`;
      return reason === null ? { state: "succeeded" } : { state: "failed", reason };
    },
    [Symbol.asyncDispose]: () => outgoing[Symbol.asyncDispose](),
  };
}

const NO_MODEL: ServedModel = { model_member: null, model_value: null };

/** Why a health document does not show that the server serves the right model; null if it does, or need not. */
function wrongModel(document: string | null, { model_member: member, model_value: value }: ServedModel): string | null {
  if (member === null || value === null) return null;
  const steps = member.split(".");
  const found = steps.reduce(ownMember, document === null ? undefined : parseJson(document));
  if (typeof found !== "string") return "does not say which model it serves";
  return found === value ? null : `serves ${shown(found)}, not ${shown(value)}`;
}

function ownMember(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

/** Probe intervals and timeout. */
export interface ReadinessTimes {
  /** Between probes of an endpoint whose capacity is expected. */
  readonly expectedMs: number;
  /** Between probes of any other endpoint. */
  readonly idleMs: number;
  /** Between probes while their results contradict the known health. No endpoint is probed more often. */
  readonly repeatMs: number;
  /** Limit of one probe, from the connection to the end of the answer. */
  readonly probeTimeoutMs: number;
  /** Between queries for endpoints that are due. */
  readonly tickMs: number;
}

export const READINESS_TIMES: ReadinessTimes = {
  expectedMs: 10_000,
  idleMs: 300_000,
  repeatMs: 2_000,
  probeTimeoutMs: 5_000,
  tickMs: 1_000,
};
