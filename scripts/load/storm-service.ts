/**
 * Kills the service (SIGKILL) at random moments while several clients register robots, starts it again, and counts in the end what became
 * of every setup that was acknowledged. On SQLite, and on two replicas over PostgreSQL, of which one is killed at a time.
 *
 *     node scripts/load/storm-service.ts [--rounds 20] [--clients 8] [--only sqlite] [--json]
 *
 * Exits 0 when nothing was lost and nothing is there twice.
 */
import type { ChildProcess } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

import { POSTGRES_PROGRAMS, startPostgres } from "../../test/support/service/postgres.ts";
import { endProcess } from "../benchmarks/robot.ts";
import { launch } from "../benchmarks/service-start.ts";
import { scratchFolder } from "../end-of-script.ts";
import { freshBuild } from "../fresh-build.ts";
import { robotsOf, startClient } from "./storm-service-client.ts";
import type { Acknowledged, Client } from "./storm-service-client.ts";

/** What became of the setups of one store. */
interface Outcome {
  readonly store: string;
  readonly kills: number;
  /** Setups that were answered with 200, and the robots they were about. */
  readonly acknowledged: number;
  readonly robots: number;
  /** Robots that are there as they were acknowledged last, or as a later setup left them whose answer was cut off. */
  readonly found: number;
  readonly lost: number;
  /** Robots there more than once, or under another id than was acknowledged. */
  readonly doubled: number;
  /** Requests whose connection broke, and that were sent again. */
  readonly cut_off: number;
}

/** A process that is started again at the same address whenever it was killed. */
interface Replica {
  readonly folder: string;
  url: string;
  key: string;
  child: ChildProcess;
}

const SHORTEST_LIFE_MS = 50;
const LONGEST_LIFE_MS = 900;

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "20" },
    clients: { type: "string", default: "8" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
    /** A launcher to storm instead of a fresh build. */
    bundle: { type: "string" },
  },
});
const rounds = Number(options.rounds);
const clientCount = Number(options.clients);

const folder = scratchFolder("robot-policy-storm-");
const outcomes: Outcome[] = [];
const launcher = options.bundle ?? freshBuild("robot-policy-service");
if (options.only !== "postgresql") outcomes.push(await storm("sqlite", launcher, 1, []));
if (options.only !== "sqlite" && POSTGRES_PROGRAMS !== null) {
  await using cluster = await startPostgres({ fsync: true });
  outcomes.push(await storm("postgresql", launcher, 2, ["--database", await cluster.createDatabase()]));
}
if (options.json) console.log(JSON.stringify(outcomes, null, 2));
else console.table(Object.fromEntries(outcomes.map(({ store, ...counts }) => [store, counts])));
process.exitCode = outcomes.some(({ lost, doubled, kills }) => lost + doubled > 0 || kills < rounds) ? 1 : 0;

async function storm(store: string, launcher: string, count: number, flags: readonly string[]): Promise<Outcome> {
  const replicas: Replica[] = [];
  const clients: Client[] = [];
  try {
    for (let index = 0; index < count; index += 1) {
      const own = join(folder, `${store}-${index}`);
      await mkdir(own);
      const { child, target } = await launch(launcher, own, ["--listen", "127.0.0.1:0", ...flags]);
      replicas.push({ folder: own, ...target, child });
    }
    for (let index = 0; index < clientCount; index += 1) {
      const replica = replicas[index % count];
      // By reference: a replica may come back at another port.
      if (replica !== undefined) clients.push(startClient(`client-${index}`, replica));
    }
    for (let round = 0; round < rounds; round += 1) {
      console.error(`${store}: kill ${round + 1} of ${rounds} …`);
      await sleep(SHORTEST_LIFE_MS + Math.random() * (LONGEST_LIFE_MS - SHORTEST_LIFE_MS));
      await killAndRestart(launcher, replicas[round % count], flags);
    }
    await Promise.all(clients.map((client) => client.stop()));
    const [first] = replicas;
    if (first === undefined) throw new Error("a storm needs a service");
    return judge(store, clients, await robotsOf(first));
  } finally {
    // A client that met something unexpected has said so above; the services are ended all the same.
    await Promise.allSettled(clients.map((client) => client.stop()));
    await Promise.all(replicas.map(({ child }) => endProcess(child)));
  }
}

async function killAndRestart(launcher: string, replica: Replica | undefined, flags: readonly string[]): Promise<void> {
  if (replica === undefined) return;
  await endProcess(replica.child);
  const listen = new URL(replica.url).host;
  const { child, target } = await launch(launcher, replica.folder, ["--listen", listen, ...flags]);
  replica.child = child;
  replica.url = target.url;
}

function judge(
  store: string,
  clients: readonly Client[],
  robots: readonly { readonly id: string; readonly name: string; readonly setup: number }[],
): Outcome {
  const byName = Map.groupBy(robots, ({ name }) => name);
  const acknowledged: Acknowledged[] = clients.flatMap((client) => [...client.acknowledged.values()]);
  const isThere = ({ name, setup }: Acknowledged) => byName.get(name)?.some((robot) => robot.setup >= setup) === true;
  const isDoubled = ({ name, id }: Acknowledged) => byName.get(name)?.some((robot) => robot.id !== id) === true;
  const repeated = [...byName.values()].filter((same) => same.length > 1).length;
  return {
    store,
    kills: rounds,
    acknowledged: clients.reduce((sum, client) => sum + client.count(), 0),
    robots: acknowledged.length,
    found: acknowledged.filter(isThere).length,
    lost: acknowledged.filter((each) => !isThere(each)).length,
    doubled: Math.max(repeated, acknowledged.filter(isDoubled).length),
    cut_off: clients.reduce((sum, client) => sum + client.cutOff(), 0),
  };
}
