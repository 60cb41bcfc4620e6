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
