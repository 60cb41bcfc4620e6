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
export interface Samples {
  answered(kind: string, status: number, tookMs: number): void;
  /** @param why a code such as ECONNREFUSED. */
  unanswered(why: string): void;
  take(): { readonly taken: readonly Taken[]; readonly statuses: ReadonlyMap<string, number> };
}

export function createSamples(): Samples {
  let times = new Map<string, number[]>();
  let statuses = new Map<string, number>();
  const count = (what: string) => void statuses.set(what, (statuses.get(what) ?? 0) + 1);
  return {
    answered(kind, status, tookMs) {
      count(`${status}`);
      const list = times.get(kind);
      if (list === undefined) times.set(kind, [tookMs]);
      else list.push(tookMs);
    },
    unanswered: count,
    take() {
      const taken = [...times]
        .map(([kind, each]) => summary(kind, each))
        .toSorted((left, right) => (left.kind < right.kind ? -1 : 1));
      const result = { taken, statuses };
      times = new Map();
      statuses = new Map();
      return result;
    },
  };
}

function summary(kind: string, times: readonly number[]): Taken {
  const sorted = times.toSorted((left, right) => left - right);
  const at = (part: number) => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN;
  return { kind, count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), worstMs: at(1) };
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
