import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

import { endProcess, endWithScript } from "../../support/end-of-script.ts";
import { contextSwitchesOf, diskCallsOf, memoryOf, transfersOf } from "../support/process.ts";
import { bareEnvironment, createRobot, openNotifySocket, smallFiles, startListener } from "./robot.ts";
import { type Bench, compared, limited, type Row, skipped } from "./row.ts";

const BEFORE_LIMIT = 1.7;
const AFTER_LIMIT = 1.9;
const SWITCHES_LIMIT = 30;
const HEARTBEAT_SWITCHES_LIMIT = 30;
const MINUTE_MS = 60_000;

/** The idle daemon, without and with heartbeats, compared with an idle Node. */
export async function measureIdle(bench: Bench): Promise<readonly Row[]> {
  // The compile cache is written 10 s after a start.
  const calmMs = bench.quick ? 15_000 : 20_000;
  // At least two heartbeats.
  const watchedMs = bench.quick ? MINUTE_MS : 2 * MINUTE_MS;
  const tracedMs = bench.quick ? 10_000 : MINUTE_MS + 5_000;
  await using listener = await startListener();
  await using before = await createRobot(bench.bundle, listener.url, smallFiles);
  await using after = await createRobot(bench.bundle, listener.url, smallFiles);
  await using beating = await createRobot(bench.bundle, listener.url, smallFiles);
  await using manager = await openNotifySocket(before.folder);
  const notified: Record<string, string> = manager === null ? {} : { NOTIFY_SOCKET: manager.path };
  for (const robot of [before, after, beating]) await robot.register(listener);
  await after.forget();
  await beating.enroll(listener.url);

  const bare = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e9)"], {
    stdio: "ignore",
    env: bareEnvironment(),
  });
  endWithScript(bare);
  await using unchanged = before.start({ NODE_COMPILE_CACHE: before.cache, ...notified });
  await using registered = after.start({ NODE_COMPILE_CACHE: after.cache, ...notified });
  await using enrolled = beating.start({ NODE_COMPILE_CACHE: beating.cache, ...notified });
  try {
    await sleep(calmMs);
    const baseline = memoryOf(bare.pid ?? 0).residentMb;
    const residentBefore = memoryOf(unchanged.processId).residentMb;
    const residentAfter = memoryOf(registered.processId).residentMb;

    const switches = contextSwitchesOf(unchanged.processId);
    const bareSwitches = contextSwitchesOf(bare.pid ?? 0);
    const beatingSwitches = contextSwitchesOf(enrolled.processId);
    const { written_bytes: writtenBytes } = transfersOf(unchanged.processId);
    await sleep(watchedMs);
    const perMinute = (count: number) => (count * MINUTE_MS) / watchedMs;
    const switchesPerMinute = perMinute(contextSwitchesOf(unchanged.processId) - switches);
    const barePerMinute = perMinute(contextSwitchesOf(bare.pid ?? 0) - bareSwitches);
    const beatingPerMinute = perMinute(contextSwitchesOf(enrolled.processId) - beatingSwitches);
    const residentBeating = memoryOf(enrolled.processId).residentMb;
    const written = transfersOf(unchanged.processId).written_bytes - writtenBytes;
    const traced = [unchanged, enrolled].map(({ processId }) => diskCallsOf(processId, tracedMs));
    const [diskCalls, beatingDiskCalls] = await Promise.all(traced);
    return [
      compared("idle, no request yet: RSS", { measured: residentBefore, baseline, limit: BEFORE_LIMIT, unit: "MB" }),
      compared("idle, after a request: RSS", { measured: residentAfter, baseline, limit: AFTER_LIMIT, unit: "MB" }),
      limited("idle: context switches", {
        measured: switchesPerMinute,
        limit: SWITCHES_LIMIT,
        unit: "/min",
        baseline: `${barePerMinute.toFixed(0)} /min`,
      }),
      limited("idle: bytes to the disk", { measured: written, limit: 0, unit: "" }),
      diskRow("idle: calls that write to files", diskCalls),
      compared("heartbeats: RSS", { measured: residentBeating, baseline, limit: AFTER_LIMIT, unit: "MB" }),
      limited("heartbeats: context switches", {
        measured: beatingPerMinute,
        limit: HEARTBEAT_SWITCHES_LIMIT,
        unit: "/min",
        baseline: `${barePerMinute.toFixed(0)} /min`,
      }),
      diskRow("heartbeats: calls that write to files", beatingDiskCalls),
    ];
  } finally {
    await endProcess(bare);
  }
}

function diskRow(what: string, calls: number | null | undefined): Row {
  return typeof calls === "number"
    ? limited(what, { measured: calls, limit: 0, unit: "" })
    : skipped(what, "needs strace");
}
