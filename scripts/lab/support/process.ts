/** Measurements of a running process on Linux, proc(5). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { endProcess, endWithScript } from "../../support/end-of-script.ts";

const BYTES_PER_MB = 1024 * 1024;
/** Ticks are hundredths of a second on Linux. */
const TICKS_PER_S = 100;
/** Fields of /proc/PID/stat after the name: of the process, and of its children that ended. The time in the kernel follows each. */
const UTIME = 11;
const CUTIME = 13;

/** Resident memory in MiB: current and peak. */
export function memoryOf(processId: number): { readonly residentMb: number; readonly peakMb: number } {
  const status = readFileSync(`/proc/${processId}/status`, "utf8");
  return {
    residentMb: (numberIn(status, "VmRSS") * 1024) / BYTES_PER_MB,
    peakMb: (numberIn(status, "VmHWM") * 1024) / BYTES_PER_MB,
  };
}

/**
 * Total number of voluntary context switches of all threads: each is a sleep that something ended. Involuntary switches
 * (nonvoluntary_ctxt_switches) depend on other load: on a busy machine 14 of 23 per minute.
 */
export function contextSwitchesOf(processId: number): number {
  return readdirSync(`/proc/${processId}/task`)
    .map((thread) => readFileSync(`/proc/${processId}/task/${thread}/status`, "utf8"))
    .reduce((sum, status) => sum + numberIn(status, "voluntary_ctxt_switches"), 0);
}

/** Bytes read by any means, and bytes written to a disk. */
export function transfersOf(processId: number): { readonly read_bytes: number; readonly written_bytes: number } {
  const io = readFileSync(`/proc/${processId}/io`, "utf8");
  return { read_bytes: numberIn(io, "rchar"), written_bytes: numberIn(io, "write_bytes") };
}

/**
 * Counts system calls within `durationMs` that write, sync or rename something with a path.
 *
 * @returns null if strace is missing or not permitted.
 */
export async function diskCallsOf(processId: number, durationMs: number): Promise<number | null> {
  const calls = "write,pwrite64,writev,pwritev,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,openat";
  const tracer = spawn("strace", ["-f", "-y", "-qq", "-e", `trace=${calls}`, "-p", String(processId)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  endWithScript(tracer);
  const lines: string[] = [];
  createInterface(tracer.stderr).on("line", (line) => lines.push(line));
  const ended = Promise.race([once(tracer, "error"), once(tracer, "exit")]).then(() => "ended");
  const outcome = await Promise.race([ended, sleep(durationMs).then(() => "traced")]);
  if (outcome === "ended") return null;
  tracer.kill("SIGINT");
  await ended;
  await endProcess(tracer);
  // Event descriptors, pipes and sockets have no path; files opened for reading are not writes.
  return lines.filter((line) => /\((?:\d+<\/|"|AT_FDCWD)/.test(line) && !line.includes("O_RDONLY")).length;
}

/** Processor seconds of a process, of its children, and of ended ones. */
export function secondsOfFamily(processId: number): number {
  const children = readdirSync(`/proc/${processId}/task`).flatMap((task) =>
    readFileSync(`/proc/${processId}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
  return secondsOf([processId, ...children]) + ticksOf(processId, CUTIME) / TICKS_PER_S;
}

/** Processor seconds of the processes; those that ended meanwhile count as zero. */
export function secondsOf(processIds: readonly number[]): number {
  return processIds.reduce((sum, id) => sum + ticksOf(id, UTIME), 0) / TICKS_PER_S;
}

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

function numberIn(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
}
