/** Edits of configuration files: how soon the agent registers them, what it reads for it, and how often it registers in a burst of them. */
import { createHash } from "node:crypto";
import { appendFile, rename, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { transfersOf } from "../support/process.ts";
import {
  createRobot,
  type Daemon,
  type Listener,
  nowMs,
  type Robot,
  SETTLE_MS,
  smallFiles,
  startListener,
} from "./robot.ts";
import { type Bench, limited, median, type Row } from "./row.ts";

const BEYOND_SETTLE_LIMIT_MS = 15;
const FIRST_EDIT_LIMIT_MS = 40;
/** As many changes as the agent sends without a delay (src/agent/registration/rate-cap.ts). */
const EDITS_PER_START = 3;
/** The limit of a manifest. */
const MOST_FILES = 64;
const FILE_BYTES = 1024 * 1024;
const READ_LIMIT_MB = 1.1;
/** Time until the watches are set and all work of the start is done. */
const STARTED_MS = 1_000;
/** A longer pause means that the reading is over: pieces of 256 KiB follow each other after 31 ms. */
const STILL_MS = 2_000;

/** Time from an edit to the request, and the bytes read for it. */
export async function measureChange(bench: Bench): Promise<readonly Row[]> {
  await using listener = await startListener();
  const starts = bench.quick ? 3 : 8;
  const first: number[] = [];
  const later: number[] = [];
  {
    await using robot = await createRobot(bench.bundle, listener.url, smallFiles);
    await robot.register(listener);
    for (let start = 0; start < starts; start++) {
      const beyondMs = await editsAfterStart(robot, listener, start);
      first.push(...beyondMs.slice(0, 1));
      later.push(...beyondMs.slice(1));
    }
  }
  const unit = "ms";
  return [
    limited("change → POST, beyond settle", { measured: median(later), limit: BEYOND_SETTLE_LIMIT_MS, unit }),
    limited("  slowest", { measured: Math.max(...later), limit: null, unit }),
    limited("  first edit after a start", { measured: median(first), limit: FIRST_EDIT_LIMIT_MS, unit }),
    await measureRead(bench, listener),
  ];
}

async function editsAfterStart(robot: Robot, listener: Listener, start: number): Promise<readonly number[]> {
  const [path = ""] = robot.paths;
  const beyondMs: number[] = [];
  await using daemon = robot.start({ NODE_COMPILE_CACHE: robot.cache });
  await sleep(STARTED_MS);
  for (let edit = 0; edit < EDITS_PER_START; edit++) {
    const count = listener.registrations.length + 1;
    await writeFile(`${path}.new`, `${smallFiles["left.yaml"]}edit: ${start}.${edit}\n`);
    const editedMs = nowMs();
    await rename(`${path}.new`, path);
    beyondMs.push((await listener.arrived(count)).at_ms - editedMs - SETTLE_MS);
    await sleep(100);
  }
  await daemon.stop();
  return beyondMs;
}

/** Resolves when the agent has completed its slow rereading of the files that an earlier process hashed. */
async function readingEnded({ processId }: Daemon): Promise<void> {
  for (let before = -1; ;) {
    const { read_bytes: readBytes } = transfersOf(processId);
    if (readBytes === before) return;
    before = readBytes;
    await sleep(STILL_MS);
  }
}

async function measureRead(bench: Bench, listener: Listener): Promise<Row> {
  const files = Object.fromEntries(Array.from({ length: MOST_FILES }, (_, index) => [`${index}.bin`, FILE_BYTES]));
  await using robot = await createRobot(bench.bundle, listener.url, files);
  await robot.register(listener);
  await using daemon = robot.start({ NODE_COMPILE_CACHE: robot.cache });
  await sleep(STARTED_MS);
  const appendTo = async (path: string | undefined) => {
    const { read_bytes: readBytes } = transfersOf(daemon.processId);
    const count = listener.registrations.length + 1;
    await appendFile(path ?? "", "x");
    await listener.arrived(count);
    return (transfersOf(daemon.processId).read_bytes - readBytes) / 1024 ** 2;
  };
  // The first request also reads the program's own files, for the request and its answer, and all other configuration files unless they
  // were read since the start.
  await appendTo(robot.paths[3]);
  await readingEnded(daemon);
  const measured = await appendTo(robot.paths[17]);
  return limited(`one of ${MOST_FILES} × 1 MiB changed: read`, { measured, limit: READ_LIMIT_MB, unit: "MB" });
}

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
