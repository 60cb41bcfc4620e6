import { readdirSync, readFileSync } from "node:fs";

import { memoryOf } from "../benchmarks/process.ts";
import type { LoadedService } from "./load-service.ts";

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

/** proc(5): ticks are hundredths of a second on Linux. */
const TICKS_PER_S = 100;

/** Starts the measurement; the returned function ends it. */
export async function meter(service: LoadedService): Promise<() => Promise<Usage>> {
  const { commits } = service;
  const processIds = service.processIds();
  await longestTurnMs(service.urls);
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
      longestTurnMs: await longestTurnMs(service.urls),
    };
  };
}

/** Usage of all replicas since the previous call. */
async function longestTurnMs(urls: readonly string[]): Promise<number> {
  const turns = urls.map(async (url) => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return Number(/^nodejs_eventloop_lag_max_seconds (.+)$/m.exec(text)?.[1]) * 1000;
  });
  return Math.max(...(await Promise.all(turns)));
}

/** Usage of the server, of its processes, and of ended ones. */
function databaseSeconds(processId: number | null): number | null {
  if (processId === null) return null;
  const children = readdirSync(`/proc/${processId}/task`).flatMap((task) =>
    readFileSync(`/proc/${processId}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
  return secondsOf([processId, ...children]) + ticksOf(processId, CUTIME) / TICKS_PER_S;
}

/** Processor seconds of the processes; those that ended meanwhile count as zero. */
function secondsOf(processIds: readonly number[]): number {
  return processIds.reduce((sum, id) => sum + ticksOf(id, UTIME), 0) / TICKS_PER_S;
}

/** Fields of /proc/PID/stat after the name: of the process, and of its children that ended. The time in the kernel follows each. */
const UTIME = 11;
const CUTIME = 13;

function ticksOf(processId: number, field: typeof UTIME | typeof CUTIME): number {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, "utf8");
    // The name of the program, in parentheses, may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[field]) + Number(fields[field + 1]);
  } catch {
    return 0;
  }
}
