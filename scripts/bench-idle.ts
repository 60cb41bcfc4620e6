import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

import { smallFiles } from "./bench-boot.ts";
import { openNotifySocket } from "./bench-notify.ts";
import { contextSwitchesOf, diskCallsOf, memoryOf, transfersOf } from "./bench-process.ts";
import { bareEnvironment, createRobot, endProcess, startListener } from "./bench-robot.ts";
import type { Bench, Row } from "./bench-row.ts";
import { compared, limited, skipped } from "./bench-row.ts";
import { endWithScript } from "./end-of-script.ts";

const BEFORE_LIMIT = 1.6;
const AFTER_LIMIT = 2.1;
const SWITCHES_LIMIT = 5;
const MINUTE_MS = 60_000;

/** The daemon while nothing happens, beside a Node that does nothing. */
export async function measureIdle(bench: Bench): Promise<readonly Row[]> {
  // V8 comes to rest 12 s after a start.
  const calm_ms = bench.quick ? 15_000 : 20_000;
  const watched_ms = bench.quick ? 20_000 : 2 * MINUTE_MS;
  const traced_ms = bench.quick ? 10_000 : MINUTE_MS + 5_000;
  await using listener = await startListener();
  await using before = await createRobot(bench.bundle, listener.url, smallFiles);
  await using after = await createRobot(bench.bundle, listener.url, smallFiles);
  await using manager = await openNotifySocket(before.folder);
  const notified: Record<string, string> = manager === null ? {} : { NOTIFY_SOCKET: manager.path };
  for (const robot of [before, after]) await robot.register(listener);
  await after.forget();

  const bare = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e9)"], {
    stdio: "ignore",
    env: bareEnvironment(),
  });
  endWithScript(bare);
  await using unchanged = before.start({ NODE_COMPILE_CACHE: before.cache, ...notified });
  await using registered = after.start({ NODE_COMPILE_CACHE: after.cache, ...notified });
  try {
    await sleep(calm_ms);
    const baseline = memoryOf(bare.pid ?? 0).resident_mb;
    const resident_before = memoryOf(unchanged.process_id).resident_mb;
    const resident_after = memoryOf(registered.process_id).resident_mb;

    const switches = contextSwitchesOf(unchanged.process_id);
    const bare_switches = contextSwitchesOf(bare.pid ?? 0);
    const { written_bytes } = transfersOf(unchanged.process_id);
    await sleep(watched_ms);
    const perMinute = (count: number) => (count * MINUTE_MS) / watched_ms;
    const switches_per_minute = perMinute(contextSwitchesOf(unchanged.process_id) - switches);
    const bare_per_minute = perMinute(contextSwitchesOf(bare.pid ?? 0) - bare_switches);
    const written = transfersOf(unchanged.process_id).written_bytes - written_bytes;
    const disk_calls = await diskCallsOf(unchanged.process_id, traced_ms);
    return [
      compared("idle, no request yet: RSS", { measured: resident_before, baseline, limit: BEFORE_LIMIT, unit: "MB" }),
      compared("idle, after a request: RSS", { measured: resident_after, baseline, limit: AFTER_LIMIT, unit: "MB" }),
      limited("idle: context switches", {
        measured: switches_per_minute,
        limit: SWITCHES_LIMIT,
        unit: "/min",
        baseline: `${bare_per_minute.toFixed(0)} /min`,
      }),
      limited("idle: bytes to the disk", { measured: written, limit: 0, unit: "" }),
      disk_calls === null
        ? skipped("idle: calls that write to files", "needs strace")
        : limited("idle: calls that write to files", { measured: disk_calls, limit: 0, unit: "" }),
    ];
  } finally {
    await endProcess(bare);
  }
}
