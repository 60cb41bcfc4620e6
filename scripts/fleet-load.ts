/**
 * A fleet on one service: thousands of robots in this process, made of the agent's own loop of the identity, client and delays. They enrol
 * with a key for enrolments, register, report, change, and come back after the service was killed. Then an organization of very many robots.
 *
 *     node scripts/fleet-load.ts --store both                      # all figures: half an hour on a quiet machine
 *     node scripts/fleet-load.ts --quick                           # a minute: whether it works
 *     node scripts/fleet-load.ts --profile /tmp/profiles --large 0 # a profile of each process of the service
 *
 * Service, database and load share this machine, and every request is over a connection of its own, as the agent's are. "service",
 * "database" and "load" are parts of one processor, "turn" the longest time for which an event loop of the service came to no timer,
 * commits those that wrote something. Exits 0 when nothing was lost, no answer was a 5xx, and all budgets were kept.
 *
 * What 1,000,000 robots need, on paper, from the figures of 10,000 (a heartbeat over a connection of its own takes 0.7 ms of a processor):
 *
 * - 33,000 heartbeats/s take 25 processors. Behind a load balancer that keeps connections to the replicas open, about half.
 * - A replica writes 1,000 rows in 1.2 s (installations/liveness.ts), so it keeps up with 25,000 robots: 40 replicas of one processor. The
 *   load balancer has to send a robot to the same replica each time. Otherwise each replica hears of a robot every 40 periods, takes each
 *   heartbeat for the return of a silent robot, and its kept lists last no longer than to the next heartbeat.
 * - 33,000 rows/s is what PostgreSQL does not do with a table whose rows and indexes are as wide as those of `installations`. Moments of
 *   heartbeats then belong into a narrow table that is not logged, or are written when a robot comes or goes and each ten minutes.
 * - 5,000 setups/s, if the rate stays one in 200 s and robot, are ten databases with the robots of an organization in one of them: no
 *   transaction concerns two organizations. A region that was away is registered again in minutes, by the delays of the agent.
 * - A list of one organization of this size has 300 MB: programs and the console have to ask for pages, and to filter in the service.
 */
import { parseArgs } from "node:util";

import { failures, fleetTable, overBudget, remarks, type StoreScene } from "./load/fleet-table.ts";
import { playFleet } from "./load/fleet-scenes.ts";
import { playLarge } from "./load/large-organization.ts";
import { startLoadedService, type StoreKind } from "./load/load-service.ts";
import { freshBuild } from "./support/fresh-build.ts";

const STORES: Readonly<Record<string, readonly StoreKind[]>> = {
  sqlite: ["sqlite"],
  postgres: ["postgres"],
  both: ["sqlite", "postgres"],
};

const { values: options } = parseArgs({
  options: {
    /** sqlite: one process; postgres: two replicas; both. */
    store: { type: "string", default: "sqlite" },
    /** Robots that enrol and report; 0 leaves these scenes out. */
    robots: { type: "string" },
    /** How long each of the scenes with heartbeats lasts. */
    seconds: { type: "string" },
    /** Robots of the large organization; 0 leaves it out. */
    large: { type: "string" },
    /** Few robots and short scenes: only to see that the measurement works. */
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    /** A launcher to measure instead of a fresh build. */
    program: { type: "string" },
    /** Folder for profiles of the service, for a browser's developer tools. */
    profile: { type: "string" },
  },
});
const { quick } = options;
const stores = STORES[options.store];
const robots = numberOf("robots", options.robots ?? (quick ? "200" : "10000"));
const seconds = numberOf("seconds", options.seconds ?? (quick ? "5" : "120"));
const large = numberOf("large", options.large ?? (quick ? "2000" : "100000"));
if (stores === undefined) fail(`--store '${options.store}' is none of ${Object.keys(STORES).join(", ")}`);
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

function numberOf(flag: string, text: string): number {
  if (!/^\d{1,7}$/.test(text)) fail(`--${flag} '${text}' is no number from 0 to 9999999`);
  return Number(text);
}

function note(text: string): void {
  console.error(text);
}

function fail(message: string): never {
  console.error(`error: ${message}`);
  process.exit(2);
}
