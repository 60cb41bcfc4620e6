import { availableParallelism } from "node:os";

import { createSha256 } from "../platform/crypto.ts";
import type { Files } from "../platform/files/files.ts";
import { CHUNK_BYTES, type Hashers, hashFile, type HashRequest, type HashResult, type Reading } from "./hash-file.ts";
import { type HashThread, HashThreadLost, startHashThread } from "./hash-thread.ts";

export interface HashOptions extends Reading {
  /** Awaited before the next file is opened, which bounds the memory for kept content. */
  onResult(request: HashRequest, result: HashResult): Promise<void>;
  readonly startThread?: typeof startHashThread;
}

/** Files that this thread hashes at the same time: while one is hashed, the others are opened and read. */
const LANES = 3;

/** The chunk for files that are small, or have size 0 by their stat. */
const SMALLEST_CHUNK_BYTES = 4096;

/** With a second thread, these keep both threads busy. */
const LANES_BESIDE_THREAD = 1;
const LANES_OF_THREAD = 2;

/** A thread costs about 15 ms and 12 MB. It pays off when there is this much to read beside the largest file. */
const WORTH_A_THREAD_BYTES = 32 * 1024 * 1024;

/**
 * Hashes all files, several at a time, with bounded memory whatever their sizes.
 *
 * @throws `options.signal.reason` when the signal aborts; every file is closed by then.
 */
export async function hashFiles(files: Files, requests: readonly HashRequest[], options: HashOptions): Promise<void> {
  // Largest first, so that the lanes finish at about the same time.
  const queue = [...requests].sort((one, other) => other.expected.sizeBytes - one.expected.sizeBytes);
  const largestBytes = queue[0]?.expected.sizeBytes ?? 0;
  const totalBytes = queue.reduce((total, { expected }) => total + expected.sizeBytes, 0);
  const chunkBytes = Math.min(CHUNK_BYTES, Math.max(SMALLEST_CHUNK_BYTES, largestBytes));
  const run = () => drain(files, queue, localHashers(chunkBytes), options);

  const isWorthIt = totalBytes - largestBytes >= WORTH_A_THREAD_BYTES && availableParallelism() > 1;
  const thread = isWorthIt ? await (options.startThread ?? startHashThread)() : undefined;
  if (thread === undefined) {
    await everyLane(repeat(Math.min(LANES, queue.length), run));
    return;
  }
  try {
    const runThere = () => drain(files, queue, sharedHashers(thread, chunkBytes), options);
    await everyLane([...repeat(LANES_BESIDE_THREAD, run), ...repeat(LANES_OF_THREAD, runThere)]);
    // Files that a lost thread put back after the other lanes were done.
    await run();
  } finally {
    await thread.stop();
  }
}

function localHashers(chunkBytes: number): Hashers {
  return {
    start() {
      const hash = createSha256();
      return {
        update(bytes) {
          hash.update(bytes);
        },
        digest: () => hash.digest("hex"),
      };
    },
    buffers: [new Uint8Array(chunkBytes), new Uint8Array(chunkBytes)],
  };
}

function sharedHashers(thread: HashThread, chunkBytes: number): Hashers {
  const buffer = () => new Uint8Array(new SharedArrayBuffer(chunkBytes));
  return { start: thread.start, buffers: [buffer(), buffer()] };
}

/** Takes files off the queue until it is empty. */
async function drain(files: Files, queue: HashRequest[], hashers: Hashers, options: HashOptions): Promise<void> {
  for (let request = queue.shift(); request !== undefined; request = queue.shift()) {
    try {
      await options.onResult(request, await hashFile(files, request, hashers, options));
    } catch (error) {
      if (!(error instanceof HashThreadLost)) throw error;
      queue.push(request);
      return;
    }
  }
}

function repeat(count: number, run: () => Promise<void>): readonly Promise<void>[] {
  return Array.from({ length: count }, run);
}

/** Waits for all lanes, so that every file is closed before the first error is thrown. */
async function everyLane(lanes: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(lanes);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}
