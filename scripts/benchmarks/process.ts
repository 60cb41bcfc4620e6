/** What Linux tells of a running process, proc(5). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { endWithScript } from "../support/end-of-script.ts";
import { endProcess } from "./robot.ts";

const BYTES_PER_MB = 1024 * 1024;

/** Memory in MiB: what is resident now, and the most that ever was. */
export function memoryOf(processId: number): { readonly residentMb: number; readonly peakMb: number } {
  const status = readFileSync(`/proc/${processId}/status`, "utf8");
  return {
    residentMb: (numberIn(status, "VmRSS") * 1024) / BYTES_PER_MB,
    peakMb: (numberIn(status, "VmHWM") * 1024) / BYTES_PER_MB,
  };
}

/**
 * How often the threads of a process went to sleep since each began: each time something had woken one. Switches that the kernel forces
 * (nonvoluntary_ctxt_switches) count what else the machine does: on a busy machine, 14 of 23 a minute.
 */
export function contextSwitchesOf(processId: number): number {
  return readdirSync(`/proc/${processId}/task`)
    .map((thread) => readFileSync(`/proc/${processId}/task/${thread}/status`, "utf8"))
    .reduce((sum, status) => sum + numberIn(status, "voluntary_ctxt_switches"), 0);
}

/** Bytes read by any means, and bytes sent to a disk. */
export function transfersOf(processId: number): { readonly read_bytes: number; readonly written_bytes: number } {
  const io = readFileSync(`/proc/${processId}/io`, "utf8");
  return { read_bytes: numberIn(io, "rchar"), written_bytes: numberIn(io, "write_bytes") };
}

/**
 * Counts the system calls of `durationMs` that write, sync or rename something that has a path.
 *
 * @returns null where strace is missing or may not look.
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
  // Event descriptors, pipes and sockets have no path; files opened to be read are no writes.
  return lines.filter((line) => /\((?:\d+<\/|"|AT_FDCWD)/.test(line) && !line.includes("O_RDONLY")).length;
}

function numberIn(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
}
