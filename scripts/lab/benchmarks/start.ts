/** From the start of the agent: until it is ready, and until an unregistered robot sends its request. */
import { spawn } from "node:child_process";
import { once } from "node:events";

import { memoryOf } from "../support/process.ts";
import {
  bareEnvironment,
  createRobot,
  type Listener,
  nowMs,
  openNotifySocket,
  type Robot,
  smallFiles,
  startListener,
} from "./robot.ts";
import { type Bench, compared, limited, median, type Row, skipped } from "./row.ts";

const READY_LIMIT = 2.6;
const POST_LIMIT = 5;

/** Time from exec to READY=1 with unchanged files, and from exec to the request of an unregistered robot. */
export async function measureBoot(bench: Bench): Promise<readonly Row[]> {
  const rounds = bench.quick ? 5 : 25;
  await using listener = await startListener();
  await using robot = await createRobot(bench.bundle, listener.url, smallFiles);
  await using manager = await openNotifySocket(robot.folder);

  const bootToReady = async (environment: Readonly<Record<string, string>>) => {
    if (manager === null) return Number.NaN;
    const daemon = robot.start({ ...environment, NOTIFY_SOCKET: manager.path });
    const { at_ms: atMs } = await manager.received("READY=1", daemon.startedMs);
    await daemon.stop();
    return atMs - daemon.startedMs;
  };

  const cached = { NODE_COMPILE_CACHE: robot.cache };
  for (let warmup = 0; warmup < 2; warmup++) await robot.register(listener, cached);
  const bare: number[] = [];
  const ready: number[] = [];
  const readyUncached: number[] = [];
  const sentBefore = listener.registrations.length;
  for (let round = 0; round < rounds; round++) {
    bare.push(await bareNode());
    ready.push(await bootToReady(cached));
    readyUncached.push(await bootToReady({}));
  }
  const sent = listener.registrations.length - sentBefore;

  const bareBesideFirst: number[] = [];
  const first: number[] = [];
  const firstUncached: number[] = [];
  for (let round = 0; round < rounds; round++) {
    bareBesideFirst.push(await bareNode());
    first.push(await robot.register(listener, cached));
    firstUncached.push(await robot.register(listener, {}));
  }
  const unit = "ms";
  const baseline = median(bare);
  const firstBaseline = median(bareBesideFirst);
  const readyRows =
    manager === null
      ? [skipped("unchanged boot: exec → READY=1", "needs python3")]
      : [
          compared("unchanged boot: exec → READY=1", { measured: median(ready), baseline, limit: READY_LIMIT, unit }),
          compared("  without the compile cache", { measured: median(readyUncached), baseline, limit: null, unit }),
          limited("  requests", { measured: sent, limit: 0, unit: "" }),
        ];
  return [
    ...readyRows,
    compared("first boot: exec → POST", { measured: median(first), baseline: firstBaseline, limit: POST_LIMIT, unit }),
    compared("  without the compile cache", {
      measured: median(firstUncached),
      baseline: firstBaseline,
      limit: null,
      unit,
    }),
  ];
}

/** The minimum of any Node program: `node -e ''` from exec to exit, in milliseconds. */
async function bareNode(): Promise<number> {
  const startedMs = nowMs();
  const child = spawn(process.execPath, ["-e", ""], { stdio: "ignore", env: bareEnvironment() });
  await once(child, "exit");
  return nowMs() - startedMs;
}

const MEBIBYTE = 1024 * 1024;
const HASHING_LIMIT = 1.2;
const PEAK_LIMIT_MB = 85;

/** Time to the request of a first start, minus that of a robot with small files, compared with openssl on the same files. */
export async function measureHashing(bench: Bench): Promise<readonly Row[]> {
  await using listener = await startListener();
  await using small = await createRobot(bench.bundle, listener.url, smallFiles);
  await small.register(listener);
  const what = "hash 1 GiB, one file";
  await using robot = await createRobot(bench.bundle, listener.url, { "one.bin": 1024 * MEBIBYTE });
  await firstStart(robot, listener);
  const tookS: number[] = [];
  const opensslS: number[] = [];
  let peakMb = 0;
  for (let round = 0; round < (bench.quick ? 2 : 5); round++) {
    const startS = (await firstStart(small, listener)).tookS;
    const openssl = await runOpenssl(robot.paths);
    if (openssl === null) return [skipped(what, "needs openssl")];
    const start = await firstStart(robot, listener);
    tookS.push(start.tookS - startS);
    opensslS.push(openssl);
    peakMb = Math.max(peakMb, start.peakMb);
  }
  return [
    compared(what, { measured: median(tookS), baseline: median(opensslS), limit: HASHING_LIMIT, unit: "s" }),
    limited("  peak RSS", { measured: peakMb, limit: PEAK_LIMIT_MB, unit: "MB" }),
  ];
}

async function firstStart(
  robot: Robot,
  listener: Listener,
): Promise<{ readonly tookS: number; readonly peakMb: number }> {
  const count = listener.registrations.length + 1;
  await robot.forget();
  await using daemon = robot.start({ NODE_COMPILE_CACHE: robot.cache });
  const { at_ms: atMs } = await listener.arrived(count);
  return { tookS: (atMs - daemon.startedMs) / 1000, peakMb: memoryOf(daemon.processId).peakMb };
}

async function runOpenssl(paths: readonly string[]): Promise<number | null> {
  const startedMs = nowMs();
  const child = spawn("openssl", ["dgst", "-sha256", ...paths], { stdio: "ignore", env: bareEnvironment() });
  const isThere = await Promise.race([once(child, "exit").then(() => true), once(child, "error").then(() => false)]);
  return isThere ? (nowMs() - startedMs) / 1000 : null;
}
