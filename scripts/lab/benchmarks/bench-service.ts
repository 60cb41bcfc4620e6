/** Measures the service's budgets on the release bundle, on SQLite and on PostgreSQL, alternating with another service if one is given. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { POSTGRES_PROGRAMS, startPostgres } from "../../../test/support/service/postgres.ts";
import { endProcess, endWithScript, scratchFolder } from "../../support/end-of-script.ts";
import { readFlags } from "../../support/flags.ts";
import { memoryOf } from "../support/process.ts";
import { freshBuild, listening, serve } from "../support/release.ts";
import { alignColumns } from "../support/table.ts";
import { median } from "./row.ts";
import { drive, hasWrk, register, type Target } from "./service-load.ts";

/** A running service. Disposal ends it and removes its data. */
interface Started extends AsyncDisposable {
  readonly target: Target;
  /** Null if this script did not start it. */
  readonly processId: number | null;
}

/** Longest wait for another service to answer. */
const PATIENCE_MS = 30_000;

/** The measurements of one service in one round. */
interface Figures {
  readonly setups_per_s: number;
  readonly setups_p99_ms: number;
  readonly list_100_per_s: number;
  readonly list_100_p99_ms: number;
  readonly list_1000_per_s: number;
  readonly list_1000_p99_ms: number;
  readonly mixed_per_s: number;
  readonly mixed_p99_ms: number;
  readonly peak_mb: number;
}

interface Line {
  readonly what: string;
  readonly figure: keyof Figures;
  readonly unit: string;
  /** Limits for SQLite: a factor relative to the other service, or an absolute maximum. */
  readonly atLeastTimes?: number;
  readonly atMost?: number;
}

const LINES: readonly Line[] = [
  { what: "durable setups", figure: "setups_per_s", unit: "/s", atLeastTimes: 3 },
  { what: "  99 % within", figure: "setups_p99_ms", unit: "ms" },
  { what: "list of 100 robots", figure: "list_100_per_s", unit: "/s", atLeastTimes: 8 },
  { what: "  99 % within", figure: "list_100_p99_ms", unit: "ms" },
  { what: "list of 1,000 robots", figure: "list_1000_per_s", unit: "/s", atLeastTimes: 20 },
  { what: "  99 % within", figure: "list_1000_p99_ms", unit: "ms" },
  { what: "the same, a setup in ten", figure: "mixed_per_s", unit: "/s", atLeastTimes: 5 },
  { what: "  99 % within", figure: "mixed_p99_ms", unit: "ms" },
  { what: "most memory (RSS)", figure: "peak_mb", unit: "MB", atMost: 200 },
];

const USAGE = `Usage: scripts/lab/bench-service [options]

Measures the service's budgets on SQLite and PostgreSQL. Needs wrk. Exits 0 if all are met.

  --quick                 one short round: verifies that the measurement works, figures are not representative
  --bundle FILE           a launcher to measure instead of a new build
  --beside URL            another service to measure in turn: it answers POST /v1/robots/setup and GET /v1/robots
  --beside-key KEY        the key that it takes
  --beside-start COMMAND  starts it anew for each round, with its data in the folder $BENCH_FOLDER
  --json                  the figures as JSON

Example:
  scripts/lab/bench-service --beside http://127.0.0.1:8811 --beside-key KEY --beside-start 'exec uvicorn …'`;

const options = readFlags(USAGE, {
  quick: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  bundle: { type: "string" },
  beside: { type: "string" },
  "beside-key": { type: "string", default: "" },
  "beside-start": { type: "string" },
});
if (!hasWrk()) {
  console.error("error: wrk is missing: apt-get install wrk");
  process.exit(1);
}
const rounds = options.quick ? 1 : 3;
const durationS = options.quick ? 2 : 8;

const launcher = options.bundle ?? freshBuild("robot-policy-service");
const services = new Map<string, () => Promise<Started>>();
const { beside, "beside-key": key, "beside-start": command } = options;
if (beside !== undefined) services.set("beside", () => startOther({ url: beside, key }, command));
services.set("sqlite", () => startOurs(launcher, []));
await using cluster = POSTGRES_PROGRAMS === null ? null : await startPostgres({ fsync: true });
if (cluster === null) note("PostgreSQL is left out: apt-get install postgresql");
else services.set("postgresql", async () => startOurs(launcher, ["--database", await cluster.createDatabase()]));

const figures = new Map([...services.keys()].map((name) => [name, new Array<Figures>()]));
for (let round = 1; round <= rounds; round += 1) {
  for (const [name, start] of services) {
    note(`round ${round} of ${rounds}: ${name} …`);
    await using service = await start();
    figures.get(name)?.push(await measure(service));
  }
}
const results = new Map([...figures].map(([name, each]) => [name, medians(each)]));
const over = LINES.filter((line) => verdictOf(line, results) === "OVER");
if (options.json)
  console.log(JSON.stringify({ rounds, duration_s: durationS, ...Object.fromEntries(results) }, null, 2));
else for (const text of table(results)) console.log(text);
process.exitCode = over.length === 0 ? 0 : 1;

/** The program as released, on its own store, without rate limits. `flags` can select another store. */
async function startOurs(launcher: string, flags: readonly string[]): Promise<Started> {
  const folder = scratchFolder("robot-policy-service-");
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const { child, target } = await launch(launcher, folder, ["--listen", "127.0.0.1:0", ...flags]);
    return {
      target,
      processId: child.pid ?? null,
      async [Symbol.asyncDispose]() {
        await endProcess(child);
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Starts the launcher with its data and log in `folder`; resolves once it accepts requests. */
async function launch(
  launcher: string,
  folder: string,
  flags: readonly string[],
): Promise<{ readonly child: ChildProcess; readonly target: Target }> {
  const store = flags.includes("--database") ? [] : ["--data", join(folder, "data")];
  const keyFile = join(folder, "api-key");
  const args = [...store, "--bootstrap-key-file", keyFile, "--no-rate-limit", ...flags];
  const child = serve(launcher, args, join(folder, "log"));
  const url = await listening(child);
  return { child, target: { url, key: (await readFile(keyFile, "utf8")).trim() } };
}

/** Another service: started by a shell command that keeps its data in $BENCH_FOLDER, or already running. */
async function startOther(target: Target, command: string | undefined): Promise<Started> {
  if (command === undefined) return { target, processId: null, [Symbol.asyncDispose]: () => Promise.resolve() };
  const folder = scratchFolder("beside-");
  const child = spawn("sh", ["-c", command], {
    env: { ...process.env, BENCH_FOLDER: folder, BENCH_KEY: target.key },
    stdio: ["ignore", "ignore", "inherit"],
  });
  endWithScript(child);
  const service: Started = {
    target,
    processId: child.pid ?? null,
    async [Symbol.asyncDispose]() {
      await endProcess(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await answering(target);
    return service;
  } catch (error) {
    await service[Symbol.asyncDispose]();
    throw error;
  }
}

async function answering({ url, key }: Target): Promise<void> {
  const deadlineMs = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await fetch(`${url}/v1/robots`, { headers: { authorization: `Bearer ${key}` } }).catch(() => null);
    if (answer?.status === 200) return;
    if (Date.now() > deadlineMs) throw new Error(`${url} does not answer with 200: ${answer?.status ?? "no answer"}`);
    await sleep(100);
  }
}

async function measure({ target, processId }: Started): Promise<Figures> {
  await register(target, 100);
  const list100 = await drive(target, "list", durationS);
  await register(target, 1000);
  const list1000 = await drive(target, "list", durationS);
  const mixed = await drive(target, "mixed", durationS);
  const setups = await drive(target, "setups", durationS);
  await assertCount(target, 1000);
  return {
    setups_per_s: setups.perS,
    setups_p99_ms: setups.p99Ms,
    list_100_per_s: list100.perS,
    list_100_p99_ms: list100.p99Ms,
    list_1000_per_s: list1000.perS,
    list_1000_p99_ms: list1000.p99Ms,
    mixed_per_s: mixed.perS,
    mixed_p99_ms: mixed.p99Ms,
    peak_mb: processId === null ? Number.NaN : memoryOf(processId).peakMb,
  };
}

async function assertCount({ url, key }: Target, count: number): Promise<void> {
  const answer = await fetch(`${url}/v1/robots`, { headers: { authorization: `Bearer ${key}` } });
  const robots = (await answer.json()) as unknown[];
  if (robots.length !== count) fail(`${url} has ${robots.length} robots, not ${count}`);
}

function medians(roundsOfOne: readonly Figures[]): Figures {
  const of = (figure: keyof Figures) => median(roundsOfOne.map((each) => each[figure]));
  return {
    setups_per_s: of("setups_per_s"),
    setups_p99_ms: of("setups_p99_ms"),
    list_100_per_s: of("list_100_per_s"),
    list_100_p99_ms: of("list_100_p99_ms"),
    list_1000_per_s: of("list_1000_per_s"),
    list_1000_p99_ms: of("list_1000_p99_ms"),
    mixed_per_s: of("mixed_per_s"),
    mixed_p99_ms: of("mixed_p99_ms"),
    peak_mb: of("peak_mb"),
  };
}

function table(results: ReadonlyMap<string, Figures>): readonly string[] {
  const names = [...results.keys()];
  const heads = names.flatMap((name) => (name === "beside" ? [name] : [name, "×"]));
  const lines = LINES.map((line) => {
    const beside = results.get("beside")?.[line.figure];
    const cells = names.flatMap((name) => cellsOf(name, line, results.get(name)?.[line.figure], beside));
    return [line.what].concat(cells, budgetOf(line), verdictOf(line, results));
  });
  return alignColumns([["", ...heads, "budget", ""], ...lines], 1);
}

/** A figure; for our service also the factor relative to the other one. */
function cellsOf(name: string, { unit }: Line, value = Number.NaN, beside = Number.NaN): readonly string[] {
  const shown = Number.isNaN(value) ? "" : `${value.toFixed(value < 100 ? 1 : 0)} ${unit}`;
  if (name === "beside") return [shown];
  return [shown, Number.isNaN(beside) ? "" : (value / beside).toFixed(1)];
}

function budgetOf({ atLeastTimes, atMost, unit }: Line): string {
  if (atLeastTimes !== undefined) return `≥ ${atLeastTimes} ×`;
  return atMost === undefined ? "" : `≤ ${atMost} ${unit}`;
}

/** Budgets apply to SQLite, the default store. */
function verdictOf({ figure, atLeastTimes, atMost }: Line, results: ReadonlyMap<string, Figures>): string {
  const value = results.get("sqlite")?.[figure] ?? Number.NaN;
  const beside = results.get("beside")?.[figure];
  if (atMost !== undefined) return value <= atMost ? "ok" : "OVER";
  if (atLeastTimes === undefined || beside === undefined) return "";
  return value >= atLeastTimes * beside ? "ok" : "OVER";
}

function note(text: string): void {
  console.error(text);
}

function fail(message: string): never {
  throw new Error(message);
}
