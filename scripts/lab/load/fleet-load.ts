/**
 * A fleet on one service: thousands of robots in this process that use the agent's own identity loop, client and delays. They enroll
 * with a bulk key, register, send heartbeats, change, and return after the service was killed. Then an organization with very many robots.
 *
 * Service, database and load share this machine, and every request uses a new connection, like the agent's. "service", "database" and
 * "load" are fractions of one processor, "turn" is the longest time for which an event loop of the service ran no timer, and commits are
 * those that wrote something. Exits 0 if nothing was lost, no answer was a 5xx, and all budgets are met.
 *
 * Estimate for 1,000,000 robots, from the figures of 10,000 (a heartbeat over a new connection takes 0.7 ms of CPU time):
 *
 * - 33,000 heartbeats/s take 25 processors; about half behind a load balancer that keeps connections to the replicas open.
 * - A replica writes 1,000 rows in 1.2 s (identity/presence.ts), so it can handle 25,000 robots: 40 replicas of one processor. The
 *   load balancer has to send a robot to the same replica each time. Otherwise each replica sees a robot every 40 periods, takes each
 *   heartbeat for the return of a silent robot, and drops its cached lists at every heartbeat.
 * - PostgreSQL cannot write 33,000 rows/s to a table with rows and indexes as wide as those of `installations`. Heartbeat times then belong
 *   into a narrow unlogged table, or are written only when a robot comes or goes and every ten minutes.
 * - 5,000 setups/s, if the rate stays one in 200 s per robot, need ten databases, each with complete organizations: no transaction
 *   involves two organizations. A region that was offline is registered again within minutes, by the delays of the agent.
 * - A list of one organization of this size has 300 MB: programs and the console have to use pages, and filter in the service.
 */
import { readFlags, refuseFlags, wholeNumber } from "../../support/flags.ts";
import { freshBuild } from "../support/release.ts";
import { alignColumns } from "../support/table.ts";
import { playFleet, type Scene } from "./fleet-scenes.ts";
import { playLarge } from "./large-organization.ts";
import { startLoadedService, type StoreKind } from "./load-service.ts";
import type { Taken } from "./measurements.ts";

interface StoreScene extends Scene {
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

const STORES: Readonly<Record<string, readonly StoreKind[]>> = {
  sqlite: ["sqlite"],
  postgres: ["postgres"],
  both: ["sqlite", "postgres"],
};

const USAGE = `Usage: scripts/lab/fleet-load [options]

Runs thousands of robots against the service. Exits 0 if nothing was lost and all budgets are met.

  --store STORE     sqlite: one process (default); postgres: two replicas; both
  --robots N        robots that enroll and send heartbeats; 0 skips these scenes (default: 10000)
  --seconds N       duration of each scene with heartbeats (default: 120)
  --large N         robots of the large organization; 0 skips it (default: 100000)
  --quick           few robots and short scenes: verifies that the measurement works
  --program FILE    a launcher to measure instead of a new build
  --profile FOLDER  for CPU profiles of the service, for a browser's developer tools
  --json            the figures as JSON

Examples:
  scripts/lab/fleet-load --store both      all figures: half an hour on an idle machine
  scripts/lab/fleet-load --quick           a minute`;

const options = readFlags(USAGE, {
  store: { type: "string", default: "sqlite" },
  robots: { type: "string" },
  seconds: { type: "string" },
  large: { type: "string" },
  quick: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  program: { type: "string" },
  profile: { type: "string" },
});
const { quick } = options;
const stores = STORES[options.store];
const robots = wholeNumber(USAGE, "robots", options.robots ?? (quick ? "200" : "10000"));
const seconds = wholeNumber(USAGE, "seconds", options.seconds ?? (quick ? "5" : "120"));
const large = wholeNumber(USAGE, "large", options.large ?? (quick ? "2000" : "100000"));
if (stores === undefined) refuseFlags(USAGE, `--store '${options.store}' is none of ${Object.keys(STORES).join(", ")}`);
const program = options.program ?? freshBuild("robot-policy-service");
const scenes: StoreScene[] = [];
for (const store of stores) {
  const start = () => startLoadedService({ store, program, profiles: options.profile ?? null });
  if (robots > 0) {
    await using service = await start();
    note(`${store}: ${service.urls.join(" and ")}`);
    const heartbeatS = quick ? 1 : 30;
    const outageS = quick ? 1 : 60;
    const plan = { robots, seconds, heartbeatS, outageS, setupsPerS: 50, note };
    for (const scene of await playFleet(service, plan)) scenes.push({ store, ...scene });
  }
  if (large > 0) {
    await using service = await start();
    scenes.push({ store, ...(await playLarge(service, { robots: large, rounds: quick ? 1 : 5, note })) });
  }
}
if (options.json) console.log(JSON.stringify(scenes.map(printable), null, 2));
else for (const line of [...fleetTable(scenes), ...remarks(scenes, !quick)]) console.log(line);
const isKept = scenes.every(
  (scene) => scene.lost === 0 && failures(scene) === 0 && (quick || overBudget(scene).length === 0),
);
process.exitCode = isKept ? 0 : 1;

function printable({ statuses, ...scene }: StoreScene): object {
  return { ...scene, statuses: Object.fromEntries(statuses) };
}

function note(text: string): void {
  console.error(text);
}

/** One line for each kind of request; the first line of a scene also shows its costs. */
function fleetTable(scenes: readonly StoreScene[]): readonly string[] {
  const lines = scenes.flatMap((scene) => scene.taken.map((taken, index) => cellsOf(scene, taken, index === 0)));
  return alignColumns([[...HEAD, ...COSTS], ...lines], 3);
}

/** Notes on each scene: unsuccessful answers, durations, exceeded budgets. */
function remarks(scenes: readonly StoreScene[], judgesBudgets: boolean): readonly string[] {
  return scenes.flatMap((scene) => {
    const others = [...scene.statuses]
      .filter(([status]) => status !== "200")
      .map(([what, count]) => `${count} × ${what}`);
    const over = judgesBudgets ? overBudget(scene) : [];
    const notes = [scene.note, ...others, ...over].filter((text) => text !== "");
    return notes.length === 0 ? [] : [`${scene.store}, ${scene.title}: ${notes.join("; ")}`];
  });
}

function overBudget(scene: StoreScene): readonly string[] {
  if (scene.store !== "sqlite") return [];
  return BUDGETS.flatMap(({ scene: pattern, what, limit, of }) => {
    if (!pattern.test(scene.title)) return [];
    const measured = of(scene);
    return measured === null || measured <= limit ? [] : [`OVER: ${what} ${measured.toFixed(1)}, not ${limit}`];
  });
}

/** The number of 5xx answers. */
function failures({ statuses }: Scene): number {
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
