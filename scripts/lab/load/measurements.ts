/** What a scene of the fleet measures: the times of its answers, and its costs. */
import { memoryOf, secondsOf, secondsOfFamily } from "../support/process.ts";
import { longestTurnMs } from "../support/release.ts";
import type { LoadedService } from "./load-service.ts";

/** How long the answers to one kind of request took, in milliseconds. */
export interface Taken {
  readonly kind: string;
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
}

/** The results of requests since the last `take`. */
export interface Samples extends Disposable {
  answered(kind: string, status: number, tookMs: number): void;
  /** @param why a code such as ECONNREFUSED. */
  unanswered(why: string): void;
  take(): { readonly taken: readonly Taken[]; readonly statuses: ReadonlyMap<string, number> };
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const LOOK_MS = 10;

/**
 * @param stallMs with thousands of robots, this process collects garbage for a second. Answers are not measured while its event loop
 *   stands still for longer than this, nor for as long again, while it catches up.
 */
export function createSamples(stallMs = Number.POSITIVE_INFINITY): Samples {
  let spans = new Map<string, Span[]>();
  let statuses = new Map<string, number>();
  let stalls: Span[] = [];
  const count = (what: string, times = 1) => void statuses.set(what, (statuses.get(what) ?? 0) + times);
  const isMeasured = ({ fromMs, toMs }: Span) => stalls.every((stall) => toMs < stall.fromMs || fromMs > stall.toMs);
  let lookedMs = performance.now();
  function look(): void {
    const nowMs = performance.now();
    if (nowMs - lookedMs > stallMs) stalls.push({ fromMs: lookedMs, toMs: nowMs + (nowMs - lookedMs) });
    lookedMs = nowMs;
  }
  const looking = setInterval(look, LOOK_MS);
  return {
    answered(kind, status, tookMs) {
      count(`${status}`);
      const toMs = performance.now();
      const list = spans.get(kind) ?? [];
      spans.set(kind, list);
      list.push({ fromMs: toMs - tookMs, toMs });
    },
    unanswered: (why) => count(why),
    take() {
      look();
      const taken = [...spans].map(([kind, all]) => {
        const measured = all.filter(isMeasured).map(({ fromMs, toMs }) => toMs - fromMs);
        const left = all.length - measured.length;
        if (left > 0) count("not measured while the load stood still", left);
        return summary(kind, all.length, measured);
      });
      const result = { taken: taken.toSorted((left, right) => (left.kind < right.kind ? -1 : 1)), statuses };
      spans = new Map();
      statuses = new Map();
      stalls = [];
      return result;
    },
    [Symbol.dispose]: () => clearInterval(looking),
  };
}

function summary(kind: string, count: number, times: readonly number[]): Taken {
  const sorted = times.toSorted((left, right) => left - right);
  const at = (part: number) => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN;
  return { kind, count, p50Ms: at(0.5), p99Ms: at(0.99), worstMs: at(1) };
}

/** The costs of a scene; processor time as a share of one processor. */
export interface Usage {
  readonly serviceCpu: number;
  /** Null if the database runs inside the service. */
  readonly databaseCpu: number | null;
  readonly loadCpu: number;
  /** Memory of the largest replica since its start. */
  readonly memoryMb: number;
  readonly commitsPerS: number;
  /** The longest time for which an event loop of the service ran no timer. */
  readonly longestTurnMs: number;
}

/** Starts the measurement; the returned function ends it. */
export async function meter(service: LoadedService): Promise<() => Promise<Usage>> {
  const { commits } = service;
  const processIds = service.processIds();
  await longestTurnOfAllMs(service.urls);
  const sinceMs = performance.now();
  const load = process.cpuUsage();
  const serviceS = secondsOf(processIds);
  const databaseS = databaseSeconds(commits.databaseProcessId);
  const count = await commits.count();
  return async () => {
    const elapsedS = (performance.now() - sinceMs) / 1000;
    const { user, system } = process.cpuUsage(load);
    return {
      serviceCpu: (secondsOf(processIds) - serviceS) / elapsedS,
      databaseCpu:
        databaseS === null ? null : ((databaseSeconds(commits.databaseProcessId) ?? 0) - databaseS) / elapsedS,
      loadCpu: (user + system) / 1e6 / elapsedS,
      memoryMb: Math.max(...processIds.map((id) => memoryOf(id).peakMb)),
      commitsPerS: ((await commits.count()) - count) / elapsedS,
      longestTurnMs: await longestTurnOfAllMs(service.urls),
    };
  };
}

/** Of all replicas, since the previous call. */
async function longestTurnOfAllMs(urls: readonly string[]): Promise<number> {
  const turns = urls.map(async (url) => longestTurnMs(await (await fetch(`${url}/metrics`)).text()));
  return Math.max(...(await Promise.all(turns)));
}

function databaseSeconds(processId: number | null): number | null {
  return processId === null ? null : secondsOfFamily(processId);
}
