import { spawn } from "node:child_process";
import { once } from "node:events";

import { smallFiles } from "./bench-boot.ts";
import { memoryOf } from "./bench-process.ts";
import type { Listener, Robot } from "./bench-robot.ts";
import { bareEnvironment, createRobot, now_ms, startListener } from "./bench-robot.ts";
import type { Bench, Row } from "./bench-row.ts";
import { compared, limited, median, skipped } from "./bench-row.ts";

const MEBIBYTE = 1024 * 1024;
const ONE_FILE_LIMIT = 1.1;
const MANY_FILES_LIMIT = 0.7;
const PEAK_LIMIT_MB = 85;
/** As much as 200 × 5 MiB, in as many files as a manifest may list. */
const MOST_FILES = 64;
const MANY_FILES_BYTES = 16 * MEBIBYTE;

/** Time to the request of a first start, less that of a robot with small files, beside openssl over the same files. */
export async function measureHashing(bench: Bench): Promise<readonly Row[]> {
  await using listener = await startListener();
  await using small = await createRobot(bench.bundle, listener.url, smallFiles);
  await small.register(listener);
  const many = Object.fromEntries(Array.from({ length: MOST_FILES }, (_, index) => [`${index}.bin`, MANY_FILES_BYTES]));
  const rows = [
    await measureSet(bench, listener, small, { "one.bin": 1024 * MEBIBYTE }, "hash 1 GiB, one file", ONE_FILE_LIMIT),
    await measureSet(bench, listener, small, many, `hash ${MOST_FILES} × 16 MiB`, MANY_FILES_LIMIT),
  ];
  return rows.flat();
}

async function measureSet(
  bench: Bench,
  listener: Listener,
  small: Robot,
  files: Readonly<Record<string, number>>,
  what: string,
  limit: number,
): Promise<readonly Row[]> {
  await using robot = await createRobot(bench.bundle, listener.url, files);
  await firstStart(robot, listener);
  const took_s: number[] = [];
  const openssl_s: number[] = [];
  let peak_mb = 0;
  for (let round = 0; round < (bench.quick ? 2 : 5); round++) {
    const start_s = (await firstStart(small, listener)).took_s;
    const openssl = await runOpenssl(robot.paths);
    if (openssl === null) return [skipped(what, "needs openssl")];
    const start = await firstStart(robot, listener);
    took_s.push(start.took_s - start_s);
    openssl_s.push(openssl);
    peak_mb = Math.max(peak_mb, start.peak_mb);
  }
  return [
    compared(what, { measured: median(took_s), baseline: median(openssl_s), limit, unit: "s" }),
    limited("  peak RSS", { measured: peak_mb, limit: PEAK_LIMIT_MB, unit: "MB" }),
  ];
}

async function firstStart(
  robot: Robot,
  listener: Listener,
): Promise<{ readonly took_s: number; readonly peak_mb: number }> {
  const count = listener.registrations.length + 1;
  await robot.forget();
  await using daemon = robot.start({ NODE_COMPILE_CACHE: robot.cache });
  const { at_ms } = await listener.arrived(count);
  return { took_s: (at_ms - daemon.started_ms) / 1000, peak_mb: memoryOf(daemon.process_id).peak_mb };
}

async function runOpenssl(paths: readonly string[]): Promise<number | null> {
  const started_ms = now_ms();
  const child = spawn("openssl", ["dgst", "-sha256", ...paths], { stdio: "ignore", env: bareEnvironment() });
  const is_there = await Promise.race([once(child, "exit").then(() => true), once(child, "error").then(() => false)]);
  return is_there ? (now_ms() - started_ms) / 1000 : null;
}
