import type { Scene } from "./fleet-scenes.ts";
import type { Taken } from "./samples.ts";

export interface StoreScene extends Scene {
  readonly store: string;
}

interface Budget {
  readonly scene: RegExp;
  readonly what: string;
  readonly limit: number;
  /** Null if the scene has no such figure. */
  of(scene: Scene): number | null;
}

/** For the SQLite store: one process, with the load on the same two processors. */
const BUDGETS: readonly Budget[] = [
  { scene: /^heartbeats/, what: "commits/s", limit: 1, of: ({ usage }) => usage.commitsPerS },
  { scene: /setups\/s$/, what: "p99 of setups, ms", limit: 100, of: ({ taken }) => p99(taken, "setup") },
  { scene: /one organization$/, what: "p99 of pages, ms", limit: 30, of: ({ taken }) => p99(taken, "page of 1000") },
  {
    scene: /one organization$/,
    what: "p99 of whole lists, ms",
    limit: 1000,
    of: ({ taken }) => p99(taken, "whole list, after a change"),
  },
  { scene: /one organization$/, what: "memory, MB", limit: 350, of: ({ usage }) => usage.memoryMb },
  { scene: /one organization$/, what: "longest turn, ms", limit: 50, of: ({ usage }) => usage.longestTurnMs },
];

const HEAD = ["store", "scene", "request", "count", "per s", "p50 ms", "p99 ms", "worst ms"];
const COSTS = ["service", "database", "load", "memory", "commits/s", "turn", "5xx", "lost"];

/** One line for each kind of request; the first line of a scene also shows its costs. */
export function fleetTable(scenes: readonly StoreScene[]): readonly string[] {
  const lines = scenes.flatMap((scene) => scene.taken.map((taken, index) => cellsOf(scene, taken, index === 0)));
  const cells = [[...HEAD, ...COSTS], ...lines];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? [];
  const pad = (cell: string, column: number) =>
    column < 3 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return cells.map((line) => line.map(pad).join("  ").trimEnd());
}

/** Notes on each scene: unsuccessful answers, durations, exceeded budgets. */
export function remarks(scenes: readonly StoreScene[], judgesBudgets: boolean): readonly string[] {
  return scenes.flatMap((scene) => {
    const others = [...scene.statuses]
      .filter(([status]) => status !== "200")
      .map(([what, count]) => `${count} × ${what}`);
    const over = judgesBudgets ? overBudget(scene) : [];
    const notes = [scene.note, ...others, ...over].filter((text) => text !== "");
    return notes.length === 0 ? [] : [`${scene.store}, ${scene.title}: ${notes.join("; ")}`];
  });
}

export function overBudget(scene: StoreScene): readonly string[] {
  if (scene.store !== "sqlite") return [];
  return BUDGETS.flatMap(({ scene: pattern, what, limit, of }) => {
    if (!pattern.test(scene.title)) return [];
    const measured = of(scene);
    return measured === null || measured <= limit ? [] : [`OVER: ${what} ${measured.toFixed(1)}, not ${limit}`];
  });
}

/** The number of 5xx answers. */
export function failures({ statuses }: Scene): number {
  return [...statuses].reduce((sum, [status, count]) => sum + (/^5\d\d$/.test(status) ? count : 0), 0);
}

function p99(taken: readonly Taken[], kind: string): number | null {
  return taken.find((each) => each.kind === kind)?.p99Ms ?? null;
}

function cellsOf(scene: StoreScene, taken: Taken, isFirst: boolean): readonly string[] {
  const { usage } = scene;
  return [
    isFirst ? scene.store : "",
    isFirst ? scene.title : "",
    taken.kind,
    `${taken.count}`,
    (taken.count / scene.seconds).toFixed(1),
    ...[taken.p50Ms, taken.p99Ms, taken.worstMs].map((each) => each.toFixed(1)),
    ...(isFirst
      ? [
          percent(usage.serviceCpu),
          usage.databaseCpu === null ? "" : percent(usage.databaseCpu),
          percent(usage.loadCpu),
          `${usage.memoryMb.toFixed(0)} MB`,
          usage.commitsPerS.toFixed(2),
          `${usage.longestTurnMs.toFixed(0)} ms`,
          `${failures(scene)}`,
          `${scene.lost}`,
        ]
      : []),
  ];
}

/** Of one processor. */
function percent(part: number): string {
  return `${(part * 100).toFixed(0)} %`;
}
