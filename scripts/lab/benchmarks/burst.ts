import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { smallFiles } from "./boot.ts";
import { createRobot, nowMs, startListener } from "./robot.ts";
import { type Bench, limited, type Row } from "./row.ts";

const POSTS_LIMIT = 3;
const REWRITES = 1_000;
const BURST_MS = 2_000;
/** Longer than any delay of the agent. */
const AFTERMATH_MS = 25_000;

/** A program that rewrites a file in place, a thousand times in two seconds. */
export async function measureBurst(bench: Bench): Promise<readonly Row[]> {
  await using listener = await startListener();
  await using robot = await createRobot(bench.bundle, listener.url, smallFiles);
  await robot.register(listener);
  await using _daemon = robot.start({ NODE_COMPILE_CACHE: robot.cache });
  await sleep(1_000);

  const [path = ""] = robot.paths;
  const sentBefore = listener.registrations.length;
  const whole = new Set<string>();
  let last = "";
  const beganMs = nowMs();
  for (let version = 0; version < REWRITES; version++) {
    const content = `version: ${version}\n${"offset: 0.125 # radians\n".repeat(200)}`;
    last = digestOf(content, smallFiles["right.yaml"]);
    whole.add(last);
    await writeFile(path, content);
    await sleep(Math.max(0, beganMs + ((version + 1) * BURST_MS) / REWRITES - nowMs()));
  }
  const tookMs = nowMs() - beganMs;
  await sleep(bench.quick ? 3_000 : AFTERMATH_MS);
  const sent = listener.registrations.slice(sentBefore).map(({ configurationDigest }) => configurationDigest);
  const torn = sent.filter((digest) => !whole.has(digest)).length;
  return [
    limited(`${REWRITES} rewrites in ${(tookMs / 1000).toFixed(1)} s: POSTs`, {
      measured: sent.length,
      limit: POSTS_LIMIT,
      unit: "",
    }),
    limited("  torn", { measured: torn, limit: 0, unit: "" }),
    limited("  last one wrong", { measured: sent.at(-1) === last ? 0 : 1, limit: 0, unit: "" }),
  ];
}

/** The configuration digest by its definition. */
function digestOf(...contents: readonly string[]): string {
  const lines = contents.map((content) => `${createHash("sha256").update(content).digest("hex")}\n`);
  return `sha256:${createHash("sha256").update(lines.join("")).digest("hex")}`;
}
