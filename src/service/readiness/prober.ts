import { loadDemands } from "../store/demands.ts";
import type { Claim, ClaimedEndpoint } from "../store/endpoints.ts";
import { bringProbesForward, checkpointsDueLaterThan, claimEndpoint } from "../store/endpoints.ts";
import { isAnyEndpointDue, recordProbe, releaseEndpoint } from "../store/endpoints.ts";
import { loadPreparations } from "../store/preparations.ts";
import type { Task } from "../task.ts";
import type { Expectation } from "./expectation.ts";
import { expectationOf } from "./expectation.ts";
import { believe } from "./health.ts";
import type { HealthProbe, Probed } from "./probe.ts";
import type { ReadinessContext } from "./context.ts";
import type { ReadinessTimes } from "./times.ts";

/** Probes of this process under way at once. */
export const PROBES_MAXIMUM = 16;
/** Waits are stretched and shortened by up to this, so that endpoints are not all probed in one moment. */
const JITTER = 0.1;
/** Room for writing the outcome after a probe that used up its time, before the claim is anyone's again. */
const CLAIM_SLACK_MS = 5_000;

/** Finds out which endpoints are healthy, and keeps finding out. */
export interface Prober extends AsyncDisposable {
  readonly tasks: readonly Task[];
}

/**
 * Disposing, after the loop that runs the tasks, waits for probes under way. They end with the loop and give their claims back,
 * so that the next process need not wait for these to expire.
 */
export function createProber(context: ReadinessContext, times: ReadinessTimes, health: HealthProbe): Prober {
  const { store, machine, nudge } = context;
  const { clock, random, log } = machine;
  const underway = new Set<Promise<void>>();

  function newClaim(): Claim {
    const now_ms = clock.wall_ms();
    return {
      now: isoOf(now_ms),
      probed_before: isoOf(now_ms - times.repeat_ms * (1 - JITTER)),
      horizon: isoOf(now_ms + times.idle_ms * (1 + 2 * JITTER)),
      probe_id: Buffer.from(random.bytes(12)).toString("hex"),
      expires_at: isoOf(now_ms + times.probe_timeout_ms + CLAIM_SLACK_MS),
    };
  }

  /** Starts probes until nothing is due, or as many run as may. Does not wait for them: one that hangs must not hold up the rest. */
  async function startDueProbes(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (underway.size >= PROBES_MAXIMUM) await Promise.race(underway);
      const claim = newClaim();
      if (!(await isAnyEndpointDue(store.reader, claim))) return;
      const endpoint = await store.write((transaction) => claimEndpoint(transaction, claim));
      if (endpoint === undefined) return;
      const probe = probeClaimed(endpoint, claim.probe_id, signal).finally(() => underway.delete(probe));
      underway.add(probe);
    }
  }

  /** Never rejects: an outcome that cannot be written is lost with its claim, which expires. */
  async function probeClaimed(endpoint: ClaimedEndpoint, probe_id: string, signal: AbortSignal): Promise<void> {
    const probed = await health.probe(endpoint.health_url, signal);
    try {
      if (probed.state !== "abandoned") return await record(endpoint, probe_id, probed);
      await store.write((transaction) => releaseEndpoint(transaction, endpoint, probe_id));
    } catch (error) {
      log.warn("probe_outcome_lost", {
        checkpoint_id: endpoint.checkpoint_id,
        region: endpoint.region,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }

  async function record(
    endpoint: ClaimedEndpoint,
    probe_id: string,
    probed: Exclude<Probed, { state: "abandoned" }>,
  ): Promise<void> {
    const { checkpoint_id, region } = endpoint;
    const now_ms = clock.wall_ms();
    const belief = believe(endpoint, probed.state === "succeeded");
    const is_changed = belief.health !== endpoint.health;
    const expectation = (await loadExpectations([checkpoint_id], now_ms)).get(checkpoint_id) ?? NEVER;
    const is_doubted = belief.contrary_probes > 0;
    const wait_ms = (is_doubted ? times.repeat_ms : waitOf(expectation, now_ms, times)) * jitter();
    const last_error = probed.state === "failed" ? probed.reason : null;
    const outcome = {
      ...belief,
      is_changed,
      last_error,
      probed_at: isoOf(now_ms),
      next_probe_at: isoOf(now_ms + wait_ms),
    };
    const isRecorded = await store.write((transaction) => recordProbe(transaction, endpoint, probe_id, outcome));
    if (!isRecorded) return;
    const tell = belief.health === "failing" ? log.warn : log.info;
    if (is_changed) tell("endpoint_health_changed", { checkpoint_id, region, health: belief.health, last_error });
    if (is_changed || (expectation.state === "now" && expectation.is_awaited)) nudge();
  }

  /** Has every endpoint probed soon whose capacity has come to be expected since its next probe was set. */
  async function bringExpectedForward(): Promise<void> {
    const now_ms = clock.wall_ms();
    const later_than = isoOf(now_ms + times.expected_ms * (1 + JITTER));
    const expectations = await loadExpectations(await checkpointsDueLaterThan(store.reader, later_than), now_ms);
    for (const [checkpoint_id, { state }] of expectations) {
      if (state !== "now") continue;
      await store.write((transaction) => bringProbesForward(transaction, checkpoint_id, isoOf(now_ms), later_than));
    }
  }

  async function loadExpectations(
    checkpoint_ids: readonly string[],
    now_ms: number,
  ): Promise<ReadonlyMap<string, Expectation>> {
    const demands = await loadDemands(store.reader, checkpoint_ids, now_ms);
    const slugs = new Set(demands.flatMap((demand) => (demand.kind === "fleets" ? [demand.model_slug] : [])));
    const preparations = await loadPreparations(store.reader, [...slugs]);
    const by_checkpoint = Map.groupBy(demands, ({ checkpoint_id }) => checkpoint_id);
    return new Map(
      [...by_checkpoint].map(([checkpoint_id, found]) => [checkpoint_id, expectationOf(found, preparations, now_ms)]),
    );
  }

  function jitter(): number {
    return 1 + (random.unit() * 2 - 1) * JITTER;
  }

  return {
    tasks: [
      { name: "expect-endpoints", interval_ms: times.expected_ms, run: bringExpectedForward },
      { name: "probe-endpoints", interval_ms: times.tick_ms, run: startDueProbes },
    ],
    async [Symbol.asyncDispose]() {
      await Promise.all(underway);
      await health[Symbol.asyncDispose]();
    },
  };
}

const NEVER: Expectation = { state: "never" };

function waitOf(expectation: Expectation, now_ms: number, { expected_ms, idle_ms }: ReadinessTimes): number {
  switch (expectation.state) {
    case "now":
      return expected_ms;
    case "from":
      return Math.min(idle_ms, Math.max(expected_ms, expectation.from_ms - now_ms));
    case "never":
      return idle_ms;
  }
}

function isoOf(epoch_ms: number): string {
  return new Date(epoch_ms).toISOString();
}
