import { spawn } from "node:child_process";
import { once } from "node:events";

import { openNotifySocket } from "./notify.ts";
import { bareEnvironment, createRobot, nowMs, startListener } from "./robot.ts";
import { type Bench, compared, limited, median, type Row, skipped } from "./row.ts";

const READY_LIMIT = 2.8;
const POST_LIMIT = 7;

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

/** Two files, as on a bimanual robot. */
export const smallFiles = {
  "left.yaml": "can_channel: can_left\njoint_offsets_deg: [0.0, 0.2, -0.1, 0.0, 0.3, 0.0]\n",
  "right.yaml": "can_channel: can_right\njoint_offsets_deg: [0.1, 0.0, 0.0, -0.2, 0.0, 0.0]\n",
};

/** The minimum of any Node program: `node -e ''` from exec to exit, in milliseconds. */
async function bareNode(): Promise<number> {
  const startedMs = nowMs();
  const child = spawn(process.execPath, ["-e", ""], { stdio: "ignore", env: bareEnvironment() });
  await once(child, "exit");
  return nowMs() - startedMs;
}
