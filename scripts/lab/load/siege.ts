/**
 * Attacks the release service with its default limits, one attack after the other, each on a new store. Meanwhile it measures an honest
 * organization with another address: the durations and failures of its requests, and the memory of the service.
 *
 * Attackers have a lower priority than the service, its database and the honest organization, because real ones run on other machines; this
 * needs root. Exits 0 when every goal is kept: p99 of the honest organization at most 250 ms, none of its requests
 * failed, at most 400 MB. "turn" is the longest time for which the event loop of the service ran no timer.
 *
 * Other programs on this machine change the figures. A lower `nice` alone does not help: each session has an equal
 * share of the processors, and each process of PostgreSQL is a session (sched(7), autogroup). `chrt -r 5 scripts/lab/siege` runs everything
 * before other programs, so that the figures of two runs are similar.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants, getPriority, setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { startPostgres } from "../../../test/support/service/postgres.ts";
import { endWithScript } from "../../support/end-of-script.ts";
import { readFlags, refuseFlags, wholeNumber } from "../../support/flags.ts";
import { memoryOf } from "../support/process.ts";
import { freshBuild } from "../support/release.ts";
import { alignColumns } from "../support/table.ts";
import { type Attack, ATTACKS } from "./siege-attacks.ts";
import { type Besieged, startBesieged } from "./siege-service.ts";

const GOAL = { p99Ms: 250, errors: 0, memoryMb: 400 } as const;
/** How long the honest organization runs before and after an attack. */
const SETTLE_MS = 2000;

/** What siege-tenant.ts prints at its end. */
interface Noticed {
  readonly requests: number;
  readonly errors: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly worst_ms: number;
}

interface Row extends Noticed {
  readonly store: string;
  readonly attack: string;
  readonly memory_mb: number;
  readonly longest_turn_ms: number;
  readonly outcome: string;
}

const STORES: readonly string[] = ["sqlite", "postgres", "both"];
const USAGE = `Usage: scripts/lab/siege [options]

Attacks the service, and measures what an honest organization notices meanwhile. Exits 0 if all goals are kept.

  --store STORE   ${STORES.join(", ")} (default: sqlite)
  --only N        only the attacks of this number: ${[...new Set(ATTACKS.map(({ number }) => number))].join(", ")}
  --seconds N     duration of each attack (default: 8)
  --program FILE  a launcher to attack instead of a new build, such as an older one
  --json          the rows as JSON

Examples:
  scripts/lab/siege --store both --seconds 3
  scripts/lab/siege --only 8 --program /old/dist/robot-policy-service.cjs`;

const options = readFlags(USAGE, {
  store: { type: "string", default: "sqlite" },
  only: { type: "string" },
  seconds: { type: "string", default: "8" },
  program: { type: "string" },
  json: { type: "boolean", default: false },
});
const seconds = wholeNumber(USAGE, "seconds", options.seconds);
if (!STORES.includes(options.store)) refuseFlags(USAGE, `--store '${options.store}' is none of ${STORES.join(", ")}`);
const attacks = ATTACKS.filter(({ number }) => options.only === undefined || String(number) === options.only);
if (attacks.length === 0) refuseFlags(USAGE, `--only '${options.only}' is no attack`);
const program = options.program ?? freshBuild("robot-policy-service");
const rows: Row[] = [];
await using cluster = options.store === "sqlite" ? null : await startPostgres({ fsync: true });
const priority = getPriority();
setPriority(Math.min(priority + constants.priority.PRIORITY_BELOW_NORMAL, constants.priority.PRIORITY_LOW));
if (options.store !== "postgres") for (const attack of attacks) rows.push(await measure("sqlite", attack, []));
if (cluster !== null) {
  for (const attack of attacks.filter((each) => each.store !== "sqlite")) {
    rows.push(await measure("postgres", attack, ["--database", await cluster.createDatabase()]));
  }
}
if (options.json) console.log(JSON.stringify(rows, null, 2));
else for (const line of table(rows)) console.log(line);
process.exitCode = rows.every(isKept) ? 0 : 1;

async function measure(store: string, attack: Attack, flags: readonly string[]): Promise<Row> {
  console.error(`${store}: ${attack.title} …`);
  await using service = await startBesieged(program, flags, { priority, isLogStalled: attack.isLogStalled === true });
  await attack.prepare?.(service);
  const tenant = startTenant(service, attack.isSameAddress === true);
  await sleep(SETTLE_MS);
  await service.longestTurnMs();
  const outcome = (await attack.run({ ...service, signal: AbortSignal.timeout(seconds * 1000) })) ?? "";
  await sleep(SETTLE_MS);
  const noticed = await tenant.end();
  return {
    store,
    attack: `${attack.number} ${attack.title}`,
    ...noticed,
    memory_mb: memoryOf(service.processId).peakMb,
    longest_turn_ms: await service.longestTurnMs(),
    outcome,
  };
}

function startTenant({ url, honestKey }: Besieged, isSameAddress: boolean): { end(): Promise<Noticed> } {
  const script = join(import.meta.dirname, "siege-tenant.ts");
  const child = spawn(process.execPath, [script, url, honestKey, isSameAddress ? "127.0.0.1" : "127.0.0.2"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  endWithScript(child);
  setPriority(child.pid ?? 0, priority);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (output += text));
  return {
    async end() {
      const ended = once(child, "close");
      child.kill("SIGTERM");
      await ended;
      return JSON.parse(output) as Noticed;
    },
  };
}

function isKept({ p99_ms: p99Ms, errors, memory_mb: memoryMb }: Row): boolean {
  return p99Ms <= GOAL.p99Ms && errors <= GOAL.errors && memoryMb <= GOAL.memoryMb;
}

function table(all: readonly Row[]): readonly string[] {
  const head = ["store", "attack", "p50", "p99", "worst", "errors", "memory", "turn", "", "the attacker"];
  const lines = all.map((row) => [
    row.store,
    row.attack,
    `${row.p50_ms} ms`,
    `${row.p99_ms} ms`,
    `${row.worst_ms} ms`,
    `${row.errors} of ${row.requests}`,
    `${row.memory_mb.toFixed(0)} MB`,
    `${row.longest_turn_ms.toFixed(0)} ms`,
    isKept(row) ? "ok" : "OVER",
    row.outcome,
  ]);
  return alignColumns([head, ...lines], head.length);
}
